"""Cases judged by TRL's GRPOTrainer and RLOOTrainer. Their losses are methods: they are called on a stand-in that holds the settings and hands over
the log-probabilities. Their advantages and sampler weights are statements within a longer method: those statements are cut out and run."""

import ast
import collections
import dataclasses
import inspect
import math
import textwrap
import types
import typing

import torch
import trl.rewards
from trl.trainer import grpo_trainer, rloo_trainer

from steps import HORIZON

GRPO, RLOO = grpo_trainer.GRPOTrainer, rloo_trainer.RLOOTrainer
EPS = {"adv_eps": "1e-4"}  # TRL's
EVEN = ("even", "large")  # TRL reshapes rewards to groups of one size


@dataclasses.dataclass
class Case:
    row: str
    loss: str = "grpo"
    settings: dict = dataclasses.field(default_factory=dict)  # TRL's
    pieces: dict = dataclasses.field(default_factory=dict)  # Rollcall's
    knobs: dict = dataclasses.field(default_factory=lambda: dict(EPS))
    old: str = "old"
    sampler: str = ""  # vllm_importance_sampling_mode
    trainer: type = GRPO
    rewards: tuple = ("reward",)
    scale: typing.Callable = None  # what remains between the two: a constant of the step
    steps: tuple = EVEN


def spread_of_step(case, step, rewards):
    """To its spread over the step TRL adds 1e-4; that of lite-ppo here has no eps."""
    return (rewards.std() / (rewards.std() + 1e-4)).item()


def trained_share(case, step, rewards):
    """TRL divides by all tokens, Rollcall by those that are trained."""
    return math.ceil(case.settings["top_entropy_quantile"] * step.tokens) / step.tokens


def knobs(**more):
    return {**EPS, **more}


CENTRED = {"scale_rewards": "none"}
SEQUENCE = {"importance_sampling_level": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4}
ALL_OF_IT = {"vllm_importance_sampling_clip_min": None, "vllm_importance_sampling_clip_max": 1e30}

CASES = [
    Case("grpo"),
    Case("grpo", settings={"beta": 0.04}, pieces={"regularizer": "kl"}, steps=("even",)),  # TRL's k3 has no bound
    Case("grpo", loss="bnpo", pieces={"aggregate": "token-mean"}),
    Case("dr_grpo", loss="dr_grpo", settings=CENTRED, knobs={}),
    Case("dapo", loss="dapo", settings={"epsilon_high": 0.28}),
    Case("ppo_dual_clip", settings={"delta": 3.0}),
    Case("grpo", loss="bnpo", settings={"_entropy_bonus_enabled": True}, pieces={"aggregate": "token-mean", "regularizer": "entropy"}),
    Case("dapo_overlong", loss="dapo", settings={"epsilon_high": 0.28, "soft_punish_cache": 8}, knobs=knobs(overlong_share="0.8")),
    Case("lite-ppo", loss="dapo", settings={"scale_rewards": "batch"}, knobs={}, scale=spread_of_step),
    Case("gdpo", settings={"multi_objective_aggregation": "normalize_then_sum"}, knobs={},
         rewards=("component/correct", "component/format")),
    Case("entropy-80-20", loss="dapo", settings={"epsilon_high": 0.28, "delta": 10.0, "top_entropy_quantile": 0.2}, scale=trained_share,
         pieces={"reward": "none", "weight": "top_entropy"}),
    Case("cispo_upper", loss="cispo", settings={"epsilon_high": 5.0}),
    Case("gspo", settings=SEQUENCE),
    Case("luspo", loss="luspo", settings=SEQUENCE, knobs=knobs(clip_low="3e-4", clip_high="4e-4")),
    Case("sapo", loss="sapo"),
    Case("vespo", loss="vespo", old="rollout"),
    Case("vespo", loss="vespo", settings=ALL_OF_IT, sampler="token_truncate"),
    Case("opsm", settings={"off_policy_mask_threshold": 0.05, "opsm_from": "rollout"}, knobs=knobs(opsm_delta="0.05")),
    Case("deepseek_v32", settings={**CENTRED, "off_policy_mask_threshold": 1e-4, "use_bias_correction_kl": True, "beta": 0.04}, knobs={}, old="rollout"),
    Case("decoupled_token_is", settings={"vllm_importance_sampling_clip_max": 2.0}, sampler="token_truncate"),
    Case("decoupled_seq_is", settings={"vllm_importance_sampling_clip_max": 2.0}, sampler="sequence_truncate"),
    Case("decoupled_token_icepop", settings={"vllm_importance_sampling_clip_min": 0.5, "vllm_importance_sampling_clip_max": 5.0}, sampler="token_mask"),
    Case("mis", settings={"vllm_importance_sampling_clip_max": 3.0}, sampler="sequence_mask"),
    Case("rloo", trainer=RLOO, knobs={"behaviour_scope": "product"}, old="rollout",
         pieces={"ratio": "behaviour", "surrogate": "clip", "aggregate": "seq-mean-token-mean"}),
]


def run_statements(method, first, last, names):
    """Runs the statements of a method from the one that begins with `first` to the one that begins with `last`, and returns the names they leave."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    for node in ast.walk(tree):
        body = [s for s in getattr(node, "body", []) if isinstance(s, ast.stmt)] if isinstance(getattr(node, "body", None), list) else []
        begin = next((i for i, s in enumerate(body) if ast.unparse(s).startswith(first)), None)
        if begin is None:
            continue
        end = next(i for i, s in enumerate(body) if i >= begin and ast.unparse(s).startswith(last))
        module = ast.Module(body[begin:end + 1], type_ignores=[])
        exec(compile(module, method.__qualname__, "exec"), vars(inspect.getmodule(method)), names)
        return names
    raise LookupError("%s has no statement %s" % (method.__qualname__, first))


def stand_in(case, step, now, entropy):
    """What the methods look at, with TRL's default values where the case says nothing."""
    accelerator = types.SimpleNamespace(num_processes=1, gather=lambda x: x, gather_for_metrics=lambda x: x, reduce=lambda x, reduction: x,
                                        pad_across_processes=lambda x, dim, pad_index: x)
    values = {"loss_type": case.loss, "beta": 0.0, "epsilon_low": 0.2, "epsilon_high": 0.2, "importance_sampling_level": "token", "scale_rewards": "group",
              "off_policy_mask_threshold": None, "top_entropy_quantile": 1.0, "vllm_importance_sampling_clip_min": None,
              "vllm_importance_sampling_clip_max": 3.0, "vllm_importance_sampling_mode": case.sampler, "multi_objective_aggregation": "sum_then_normalize",
              "max_completion_length": HORIZON, "normalize_advantages": False, "aux_loss_enabled": False, "_entropy_bonus_enabled": False,
              "use_vllm": bool(case.sampler), "vllm_importance_sampling_correction": bool(case.sampler), "current_gradient_accumulation_steps": 1,
              "entropy_coef": 0.001, "use_adaptive_entropy": False, "num_generations": step.columns["group"].count(0), "reward_funcs": case.rewards}
    arguments = {"delta": None, "use_bias_correction_kl": False, "sapo_temperature_pos": 1.0, "sapo_temperature_neg": 1.05, "vespo_k_pos": 2.0,
                 "vespo_lambda_pos": 3.0, "vespo_k_neg": 3.0, "vespo_lambda_neg": 2.0, "steps_per_generation": 1}
    for name, value in case.settings.items():
        (arguments if name in arguments else values)[name] = value
    trainer = types.SimpleNamespace(
        **values, args=types.SimpleNamespace(**arguments), accelerator=accelerator, model=types.SimpleNamespace(training=False),
        reward_weights=torch.ones(len(case.rewards), dtype=torch.float64), _metrics=collections.defaultdict(lambda: collections.defaultdict(list)),
        get_off_policy_mask=GRPO.get_off_policy_mask, get_gamma_weights=GRPO.get_gamma_weights,
        _get_per_token_logps_and_entropies=lambda *unused, **also_unused: (now, entropy, None))
    trainer.get_high_entropy_mask = lambda *arguments: GRPO.get_high_entropy_mask(trainer, *arguments)
    return trainer


def judged_rewards(case, step, trainer):
    """Advantages, and the rewards whose spread TRL took."""
    rewards = torch.stack([step.per_rollout(name) for name in case.rewards], 1)
    if "soft_punish_cache" in case.settings:
        punish = trl.rewards.get_soft_overlong_punishment(HORIZON, case.settings["soft_punish_cache"])
        rewards[:, 0] += torch.tensor(punish([[0] * n for n in step.columns["length"]]), dtype=torch.float64)
    names = {"self": trainer, "rewards": rewards[:, 0], "rewards_per_func": rewards, "num_generations": trainer.num_generations, "device": "cpu",
             "unscorable_mask": torch.zeros(len(rewards), dtype=torch.bool)}
    first, last = ("grouped_rewards =", "advantages = torch.nan_to_num") if case.trainer is RLOO else ("if self.multi_objective_aggregation",) * 2
    names = run_statements(case.trainer._generate_and_score_completions, first, last, names)
    return names["advantages"], names["rewards"]


def evaluate(case, step):
    now, entropy, mask = step.padded("now").requires_grad_(), step.padded("entropy").requires_grad_(), step.mask
    trainer, old = stand_in(case, step, now, entropy), step.padded(case.old)
    advantages, rewards = judged_rewards(case, step, trainer)
    ids = torch.zeros_like(mask, dtype=torch.long)
    inputs = {"prompt_ids": ids[:, :1], "prompt_mask": ids[:, :1], "completion_ids": ids, "completion_mask": mask, "num_items_in_batch": mask.sum(),
              "advantages": advantages, "old_per_token_logps": old, "old_logps": (old * mask).sum(1),
              "ref_per_token_logps": step.padded("reference")}
    if "opsm_from" in case.settings:
        inputs["sampling_per_token_logps"] = step.padded(case.settings["opsm_from"])
    if case.sampler:
        names = {"self": trainer, "old_per_token_logps": old, "sampling_per_token_logps": step.padded("rollout"), "completion_mask": mask, "tool_mask": None}
        first = "if self.use_vllm and self.vllm_importance_sampling_correction:\n    mask"
        inputs["importance_sampling_ratio"] = run_statements(GRPO._generate_and_score_completions, first, first, names)["vllm_importance_sampling_ratio"]
    loss = case.trainer._compute_loss(trainer, trainer.model, inputs)
    loss.backward()
    out = {"loss": float("%.10g" % loss.item()), "derivative": step.flat(now.grad)}
    if trainer._entropy_bonus_enabled:
        out["entropy_derivative"] = step.flat(entropy.grad)
    if case.scale:
        out["scale"] = case.scale(case, step, rewards)
    return out


def cases(steps, rows):
    for case in CASES:
        for name in case.steps if case.row in rows else ():
            yield {"recipe": case.row, "step": name, "pieces": case.pieces, "knobs": case.knobs,
                   "peer": "trl", "function": "%s %s" % (case.trainer.__name__, case.loss), **evaluate(case, steps[name])}
