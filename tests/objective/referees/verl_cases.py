"""Cases judged by verl's registries: advantage estimators, policy losses, divergence estimates, aggregation modes, rollout correction."""

import dataclasses
import math

import numpy
import torch
from verl.trainer.config import AlgoConfig
from verl.trainer.ppo import core_algos, rollout_corr_helper
from verl.workers.config import ActorConfig, PolicyLossConfig

from steps import HORIZON

TOKEN, ROLLOUT, ROLLOUT_SUM = "token-mean", "seq-mean-token-mean", "seq-mean-token-sum"
SMALL_EPS = 1e-09
GSPO_WIDTHS = {"clip_low": "3e-4", "clip_high": "4e-4"}
FROM_OLD = {"advantage": "group_norm", "ratio": "token", "aggregate": TOKEN}
DUAL = {"dual_clip": "3"}  # verl's vanilla loss always has it
WITHOUT_VALUE = {"value_coef": "0", **DUAL}  # the policy's loss alone
NO_FAR, FULL, FULL_NO_FAR = ("even", "large", "uneven"), ("even", "large", "far"), ("even", "large")


@dataclasses.dataclass
class Case:
    row: str
    advantage: str = "grpo"
    loss: str = "vanilla"
    mode: str = ROLLOUT
    actor: dict = dataclasses.field(default_factory=dict)  # verl's settings
    algorithm: dict = dataclasses.field(default_factory=dict)
    policy_loss: dict = dataclasses.field(default_factory=dict)
    correction: dict = dataclasses.field(default_factory=dict)
    pieces: dict = dataclasses.field(default_factory=dict)  # Rollcall's
    knobs: dict = dataclasses.field(default_factory=dict)
    steps: tuple = NO_FAR + ("far",)
    kl: tuple = ()  # estimator and coefficient
    reward_kl: float = 0.0
    entropy: float = 0.0
    value: bool = False
    bessel: bool = False  # verl's whitening divides by N - 1, ours by N
    old: str = "old"


def clipped(low, high):
    return {"clip_ratio_low": low, "clip_ratio_high": high}


def corrected(**settings):
    return {"rollout_is": None, **settings}


CLIPPED = [
    Case("grpo", knobs=DUAL),
    Case("dr_grpo", mode="seq-mean-token-sum-norm", algorithm={"norm_adv_by_std_in_grpo": False}, knobs=DUAL),
    Case("dapo", mode=TOKEN, actor=clipped(0.2, 0.28), knobs=DUAL),
    Case("ppo_dual_clip"),
    Case("rloo", advantage="rloo", loss="gpg", mode=ROLLOUT_SUM),
    Case("reinforce_plus_plus", advantage="reinforce_plus_plus", mode=TOKEN, knobs=DUAL, bessel=True),
    Case("reinforce_plus_plus", advantage="reinforce_plus_plus", mode=TOKEN, algorithm={"gamma": 0.9}, knobs={"gamma": "0.9", **DUAL}, bessel=True),
    Case("cispo", loss="cispo", mode=TOKEN, actor=clipped(1.0, 0.2)),
    Case("tis_loss", loss="cispo", mode=TOKEN, actor=clipped(1.0, 0.0), pieces={"aggregate": TOKEN}),
    Case("gspo", loss="gspo", actor=clipped(3e-4, 4e-4), steps=NO_FAR),
    Case("gspo_token", loss="gspo", actor=clipped(3e-4, 4e-4), steps=NO_FAR),
    Case("luspo", loss="gspo", mode=ROLLOUT_SUM, actor=clipped(3e-4, 4e-4), knobs=GSPO_WIDTHS, steps=NO_FAR),
    Case("gmpo", loss="geo_mean", actor=clipped(0.4, 0.4), steps=FULL_NO_FAR),
    Case("sapo", loss="sapo", actor={"tau_pos": 1.0, "tau_neg": 1.05}),
    Case("dppo_tv", loss="dppo_tv", mode=TOKEN, actor={"clip_ratio_c": 20.0}, pieces=FROM_OLD,
         knobs={"mask_anchor": "old", "mask_low": "0.2", "mask_high": "0.2", "mask_cap": "20"}),
    Case("dppo_kl", loss="dppo_kl", mode=TOKEN, actor={**clipped(0.05, 0.05), "clip_ratio_c": 20.0}, pieces=FROM_OLD,
         knobs={"mask_anchor": "old", "mask_cap": "20"}),
    # Every candidate is taken, so that verl's draw cannot matter.
    Case("clip_cov", loss="clip_cov", mode=TOKEN, actor=clipped(1.0, 1.0), policy_loss={"clip_cov_ratio": 1.0, "clip_cov_lb": 0.5},
         knobs={"cov_share": "1", "cov_low": "0.5"}, steps=NO_FAR),
    Case("kl_cov", loss="kl_cov", mode=TOKEN, policy_loss={"kl_cov_ratio": 0.2, "ppo_kl_coef": 1.0}, knobs={"kl_cov_share": "0.2"}, steps=NO_FAR),
    Case("dro", loss="dro", mode=TOKEN, algorithm={"norm_adv_by_std_in_grpo": False}, policy_loss={"dro_beta": 1.0}, steps=NO_FAR,
         pieces={"surrogate": "reinforce", "aggregate": "token-mean", "regularizer": "kl"}, knobs={"kl_anchor": "old", "kl_estimator": "k2", "kl_coef": "1"}),
    Case("opmd", loss="dro", mode=TOKEN, algorithm={"norm_adv_by_std_in_grpo": False}, policy_loss={"dro_beta": 0.2}, steps=NO_FAR),
]

ADVANTAGES = [
    Case("reinforce_plus_plus_baseline", advantage="reinforce_plus_plus_baseline", mode=TOKEN, knobs=DUAL, bessel=True),
    Case("remax", advantage="remax", loss="gpg", mode=ROLLOUT_SUM),
    Case("opo", advantage="opo", loss="gpg", mode=TOKEN),
    Case("gpg", advantage="gpg", loss="gpg", mode=TOKEN, knobs={"gpg_counts": "rewarded"}, steps=FULL),
    Case("grpo_passk", advantage="grpo_passk", mode=TOKEN, knobs=DUAL, steps=FULL),
    Case("optimal_token_baseline", advantage="optimal_token_baseline", mode=TOKEN, knobs=DUAL),
    Case("ppo", advantage="gae", mode=TOKEN, algorithm={"gamma": 1.0, "lam": 0.95}, knobs=WITHOUT_VALUE, bessel=True),
    Case("ppo", advantage="gae", mode=TOKEN, algorithm={"gamma": 1.0, "lam": 0.95}, reward_kl=0.05,
         pieces={"reward": "kl_in_reward"}, knobs={"kl_reward_to": "token", **WITHOUT_VALUE}, steps=NO_FAR, bessel=True),
    Case("rloo_kl", advantage="rloo", loss="gpg", mode=ROLLOUT_SUM, reward_kl=0.05, steps=NO_FAR),
    Case("ppo", advantage="gae", mode=TOKEN, algorithm={"gamma": 0.97, "lam": 0.9}, value=True,
         knobs={"gamma": "0.97", "lambda": "0.9", **DUAL}, bessel=True),
]

MODES = [Case("grpo", mode=mode, pieces={"aggregate": mode}, knobs=DUAL, steps=("uneven",))
         for mode in ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm")]

DIVERGENCES = [Case("grpo", kl=(estimator, 0.04), pieces={"regularizer": "kl"}, knobs={"kl_estimator": estimator, **DUAL}, steps=steps)
               for estimator, steps in (("k2", NO_FAR), ("k3", NO_FAR + ("far",)), ("k1+", NO_FAR), ("k3+", NO_FAR))]
DIVERGENCES.append(Case("grpo_kl", kl=("low_var_kl", 0.04), knobs=DUAL))
DIVERGENCES.append(Case("entropy_grpo", entropy=0.001, knobs=DUAL))
DIVERGENCES.append(Case("grpo", entropy=0.001, pieces={"regularizer": "entropy"}, knobs=DUAL, steps=("uneven",)))

CORRECTIONS = [
    Case("decoupled_token_is", correction=corrected(rollout_is="token", rollout_is_threshold=2.0), knobs=DUAL),
    Case("decoupled_seq_is", correction=corrected(rollout_is="sequence", rollout_is_threshold=2.0), knobs=DUAL),
    Case("decoupled_seq_is", correction=corrected(rollout_is="sequence", rollout_is_threshold=2.0, rollout_is_batch_normalize=True),
         knobs={"importance_normalize": "yes", **DUAL}),
    Case("decoupled_token_is", correction=corrected(rollout_is="token", rollout_is_threshold=2.0, rollout_is_batch_normalize=True),
         pieces={"weight": "importance"}, knobs={"importance_normalize": "yes", **DUAL}),
    Case("decoupled_token_icepop", correction=corrected(rollout_is="token", rollout_is_threshold="0.5_5.0"), knobs=DUAL),
    Case("areal", mode=TOKEN, pieces={"advantage": "group_norm"}, correction=corrected(rollout_is="token", rollout_is_threshold="1e-30_5.0"), knobs=DUAL),
    Case("decoupled_seq_is_rs", knobs=DUAL,
         correction=corrected(rollout_is="sequence", rollout_is_threshold=2.0, rollout_rs="seq_sum_k1", rollout_rs_threshold="0.5_2.0")),
    # verl bounds rollout / old where Rollcall bounds old / rollout: the reciprocals.
    Case("decoupled_geo_rs", correction=corrected(rollout_rs="seq_mean_k1", rollout_rs_threshold="%r_%r" % (1 / 1.1, 1 / 0.6)),
         knobs={"reject_low": "0.6", "reject_high": "1.1", **DUAL}),
    Case("decoupled_k3_rs", correction=corrected(rollout_rs="seq_mean_k3", rollout_rs_threshold="0.1"), knobs={"reject_high": "0.1", **DUAL}),
    Case("bypass_ppo_clip", loss="bypass_mode", old="rollout", policy_loss={"rollout_correction": {"loss_type": "ppo_clip"}}, knobs=DUAL),
    Case("bypass_pg_is", loss="bypass_mode", old="rollout",
         policy_loss={"rollout_correction": {"loss_type": "reinforce", "rollout_is": "sequence", "rollout_is_threshold": 2.0}}),
] + [
    Case("decoupled_geo_rs", correction=corrected(rollout_rs=scope + "_" + k, rollout_rs_threshold="0.2"), steps=NO_FAR,
         knobs={"reject_statistic": k, "reject_scope": scope, "reject_high": "0.2", **DUAL})
    for scope, k in (("token", "k2"), ("token", "k3"), ("seq_sum", "k2"), ("seq_max", "k2"), ("seq_max", "k3"))
]


def small_eps(case, step):
    """verl divides a group of one by 1 + eps, Rollcall by 1: eps 1e-6 would show, this one does not."""
    return case.advantage == "grpo" and case.algorithm.get("norm_adv_by_std_in_grpo", True) and step.has_group_of_one


def advantages(case, step):
    columns = step.columns
    estimate = core_algos.get_adv_estimator_fn(case.advantage)
    reward = step.token_reward()
    if case.reward_kl:  # as verl's apply_kl_penalty takes it off
        reward = reward - case.reward_kl * step.mask * core_algos.kl_penalty(step.padded("old"), step.padded("reference"), "kl")
    config = AlgoConfig(**{k: v for k, v in case.algorithm.items() if k != "lam"})
    if case.advantage == "gae":
        return estimate(reward, step.padded("value"), step.mask, case.algorithm["gamma"], case.algorithm["lam"])
    if case.advantage == "optimal_token_baseline":
        return estimate(reward, step.mask, numpy.array(columns["group"]), step.padded("old"), step.padded("sum_squares"))
    if case.advantage == "remax":
        return estimate(reward, step.per_rollout("greedy_reward"), step.mask)
    if case.advantage == "reinforce_plus_plus":
        return estimate(reward, step.mask, config=config)
    extra = {}
    if case.advantage == "grpo":
        extra = {"norm_adv_by_std_in_grpo": config.norm_adv_by_std_in_grpo, "epsilon": SMALL_EPS if small_eps(case, step) else 1e-6}
    return estimate(reward, step.mask, numpy.array(columns["group"]), config=config, **extra)


def actor_config(case):
    config = ActorConfig(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, policy_loss=PolicyLossConfig(**case.policy_loss), **case.actor)
    if case.mode == "seq-mean-token-sum-norm":
        config.global_batch_info["loss_scale_factor"] = HORIZON
    return config


def evaluate(case, step):
    advantage, returns = advantages(case, step)
    config, mask, weights = actor_config(case), step.mask, None
    if case.correction:
        made, mask, _ = rollout_corr_helper.compute_rollout_correction_and_rejection_mask(step.padded("old"), step.padded("rollout"), mask, **case.correction)
        weights = made.batch["rollout_is_weights"] if made is not None else None
    now, entropy, value = (step.padded(name).requires_grad_() for name in ("now", "entropy", "value_now"))
    loss, _ = core_algos.get_policy_loss_fn(case.loss)(step.padded(case.old), now, advantage, mask, case.mode, config, weights)
    if case.kl:  # as verl's actor adds it
        loss = loss + case.kl[1] * core_algos.agg_loss(core_algos.kl_penalty(now, step.padded("reference"), case.kl[0]), mask, case.mode)
    if case.entropy:
        loss = loss - case.entropy * core_algos.agg_loss(entropy, mask, case.mode)
    out = {"loss": float("%.10g" % loss.item())}
    loss.backward()
    out["derivative"] = step.flat(now.grad)
    if case.entropy:
        out["entropy_derivative"] = step.flat(entropy.grad)
    if case.value:
        del out["loss"]  # policy and value loss are one number in Rollcall, and the whitening scales one of them
        core_algos.compute_value_loss(value, returns, step.padded("value"), mask, 0.5, case.mode)[0].backward()
        out["value_derivative"] = step.flat(value.grad)
    if case.bessel:
        out["scale"] = math.sqrt((step.tokens - 1) / step.tokens)
    return out


def cases(steps, rows):
    for case in CLIPPED + ADVANTAGES + MODES + DIVERGENCES + CORRECTIONS:
        for name in case.steps if case.row in rows else ():
            knobs = {**case.knobs, "adv_eps": str(SMALL_EPS)} if small_eps(case, steps[name]) else case.knobs
            yield {"recipe": case.row, "step": name, "pieces": case.pieces, "knobs": knobs,
                   "peer": "verl", "function": case.advantage + " + " + case.loss, **evaluate(case, steps[name])}
