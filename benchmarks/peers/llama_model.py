"""A GGUF file of a model's shape with random weights, for llama-batched-bench: it has a vocabulary size and no tokenizer."""
import gguf
import numpy as np


def write(path, config, dtype):
    """`config` is what config.json says; `dtype` F32 or BF16. Norms and biases stay F32, as llama.cpp's own converter leaves them."""
    arch = {"llama": "llama", "qwen2": "qwen2"}[config["model_type"]]
    out = gguf.GGUFWriter(path, arch)
    head = config["head_dim"]
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_key_length(head)
    out.add_value_length(head)
    out.add_rope_dimension_count(head)
    out.add_rope_freq_base(config["rope_theta"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_vocab_size(config["vocab_size"])
    out.add_tokenizer_model("no_vocab")
    random = np.random.default_rng(1)

    def matrix(name, outputs, inputs):
        values = random.standard_normal((outputs, inputs), dtype=np.float32) * 0.02
        if dtype == "F32":
            out.add_tensor(name, values)
        else:
            out.add_tensor(name, gguf.quants.quantize(values, gguf.GGMLQuantizationType.BF16), raw_dtype=gguf.GGMLQuantizationType.BF16)

    hidden, mlp, q, kv = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    matrix("token_embd.weight", config["vocab_size"], hidden)
    out.add_tensor("output_norm.weight", np.ones(hidden, np.float32))
    for layer in range(config["num_hidden_layers"]):
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{layer}.{name}.weight", np.ones(hidden, np.float32))
        for name, outputs, inputs in (("attn_q", q, hidden), ("attn_k", kv, hidden), ("attn_v", kv, hidden), ("attn_output", hidden, q),
                                      ("ffn_gate", mlp, hidden), ("ffn_up", mlp, hidden), ("ffn_down", hidden, mlp)):
            matrix(f"blk.{layer}.{name}.weight", outputs, inputs)
            if arch == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                out.add_tensor(f"blk.{layer}.{name}.bias", np.zeros(outputs, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
