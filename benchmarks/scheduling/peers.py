"""What others take for the same decisions, measured in their own code: NumPy's weighted choice, and the published GDRO driver. Prints one JSON object.

    python peers.py numpy PROMPTS STEPS        choice(PROMPTS, 1024, replace=False, p=...) with weights that change every step
    python peers.py gdro FILE STEPS            FILE: verl/trainer/group_dro_grpo.py of its authors; 512 prompts, 11 arms, 6 bins"""
import importlib.util
import json
import sys
import time

import numpy as np


def weighted_choice(prompts, steps):
    """As much as a sampler must do at least: new weights for the prompts that were drawn, and the next draw."""
    stream = np.random.default_rng(1)
    weight = stream.random(prompts)
    took = []
    for _ in range(steps):
        began = time.perf_counter()
        drawn = stream.choice(prompts, 1024, replace=False, p=weight / weight.sum())
        weight[drawn] *= 0.9
        took.append(time.perf_counter() - began)
    return took


def published_driver(path, steps, prompts=512, population=14_000, mean=4):
    """Its bins, joint arms and updates as its trainer calls them, without the trainer: classes by online pass@k, arms 2 to 12, released settings."""
    import torch
    spec = importlib.util.spec_from_file_location("group_dro_grpo", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its data classes look themselves up
    spec.loader.exec_module(module)
    config = module.Exp3pConfig(eta_q=0.65, gamma=0.01, max_class_weight=15.0, prompt_classifier="passk_online", debias_scores_ema=True, ema_beta=0.12,
                                passk_history_len=50, passk_hysteresis=0.03, passk_edges="0.1667,0.3333,0.5,0.6667,0.8333")
    driver = module.ClassDroExp3p(config)
    driver.set_rollout_arms(list(range(2, 13)))
    stream = np.random.default_rng(1)
    took = []
    for _ in range(steps):
        ids = [str(i) for i in stream.integers(0, population, prompts)]
        right = [bool(stream.random() < 1 - (1 - int(i) % 100 / 100) ** mean) for i in ids]
        began = time.perf_counter()
        classes = driver.classify_batch([""] * prompts, [{"uid": i} for i in ids])
        counts = {c: classes.count(c) for c in set(classes)}
        chosen, _ = driver.rollout_choose_arms(counts, prompts * mean, mean)
        deciding = time.perf_counter() - began
        expanded = [c for c in classes for _ in range(chosen[c])]
        loss = torch.tensor(stream.random(len(expanded)), dtype=torch.float32)
        began = time.perf_counter()
        driver.weights_for_samples(expanded)
        driver.update_with_losses(expanded, loss)
        driver.update_rollout_arm_losses(chosen, expanded, loss, float(mean), 0.0)
        driver.update_with_passk(ids, right)
        took.append(deciding + time.perf_counter() - began)
    return took


def main():
    what, of, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    took = weighted_choice(int(of), steps) if what == "numpy" else published_driver(of, steps)
    took = sorted(1e3 * t for t in took)
    print(json.dumps({"median_ms": took[len(took) // 2], "p99_ms": took[int(0.99 * (len(took) - 1))], "slowest_ms": took[-1]}))


if __name__ == "__main__":
    main()
