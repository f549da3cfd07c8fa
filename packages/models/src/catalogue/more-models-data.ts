/**
 * Providers that `models-data.ts` and OpenRouter lack, in the same format. `-` is an unknown value. Sizes and
 * prices are of the same day. Each provider has a few models, the default first. Other models work by id, and Bonsai asks a
 * provider without models for its list. A name contains the provider if others serve the model too.
 *
 * The key of GitHub's models is not GITHUB_TOKEN: that is often set for other purposes, and would send conversations there.
 */
export const moreModelsData = `
cerebras openai-chat https://api.cerebras.ai/v1 CEREBRAS_API_KEY
 qwen-3.8-27b 131072 40960 text+image+thinking 0.99 1.49 0.99 0 Qwen 3.8 27B (Cerebras)
 gpt-oss-120b 131072 40960 text+thinking 0.35 0.75 0.35 0 GPT OSS 120B (Cerebras)
fireworks openai-chat https://api.fireworks.ai/inference/v1 FIREWORKS_API_KEY
 accounts/fireworks/models/glm-5p3 1048573 262144 text+thinking 1.4 4.4 0.26 0 GLM 5.3 (Fireworks)
 accounts/fireworks/models/glm-5p3-flash 1048573 131072 text+image+thinking 0.15 0.5 0.03 0 GLM 5.3 Flash (Fireworks)
 accounts/fireworks/models/kimi-k3p1-pro 1048576 131072 text+image+thinking 2 10 0.2 0 Kimi K3.1 Pro (Fireworks)
 accounts/fireworks/models/kimi-k3 1048576 131072 text+image+thinking 3 15 0.3 0 Kimi K3 (Fireworks)
 accounts/fireworks/models/deepseek-v4p1-flash 1000000 384000 text+image+thinking 0.3 1.2 0.006 0 DeepSeek V4.1 Flash (Fireworks)
 accounts/fireworks/models/qwen3p8-max 262144 131072 text+image+thinking 2 6 0.25 0 Qwen3.8 Max (Fireworks)
together openai-chat https://api.together.ai/v1 TOGETHER_API_KEY
 zai-org/GLM-5.3 1048575 262144 text+thinking 1.4 4.4 0.26 0 GLM 5.3 (Together)
 zai-org/GLM-5.3-Flash 1048575 400000 text+image+thinking 0.15 0.5 0.03 0 GLM 5.3 Flash (Together)
 moonshotai/Kimi-K3.1-Pro 1048576 131072 text+image+thinking 2 10 0.2 0 Kimi K3.1 Pro (Together)
 deepseek-ai/DeepSeek-V4-Pro-0813 1048576 384000 text+thinking 1.32 3.96 0.13 0 DeepSeek V4 Pro 0813 (Together)
 deepseek-ai/DeepSeek-V4.1-Flash 1048576 384000 text+image+thinking 0.3 1.2 0.006 0 DeepSeek V4.1 Flash (Together)
 MiniMaxAI/MiniMax-M3 524288 524288 text+image+thinking 0.3 1.2 0.06 0 MiniMax-M3 (Together)
 openai/gpt-oss-120b 131072 131072 text+thinking 0.15 0.6 0 0 GPT OSS 120B (Together)
baseten openai-chat https://inference.baseten.co/v1 BASETEN_API_KEY
 zai-org/GLM-5.3 1048576 262144 text+image+thinking 1.4 4.4 0.14 0 GLM 5.3 (Baseten)
 zai-org/GLM-5.3-Flash 1048576 131072 text+image+thinking 0.15 0.5 0.03 0 GLM 5.3 Flash (Baseten)
 moonshotai/Kimi-K3.1-Pro 1000000 262144 text+image+thinking 2 10 0.2 0 Kimi K3.1 Pro (Baseten)
 deepseek-ai/DeepSeek-V4-Pro-0813 1048576 262144 text+thinking 1.32 3.96 0.132 0 DeepSeek V4 Pro 0813 (Baseten)
 openai/gpt-oss-120b 128072 128072 text+thinking 0.1 0.5 0.1 0 OpenAI GPT 120B (Baseten)
minimax anthropic-messages https://api.minimax.io/anthropic MINIMAX_API_KEY
 MiniMax-M3 1000000 524288 text+image+thinking 0.3 1.2 0.06 0 MiniMax-M3
 MiniMax-M3.1-Flash 1000000 524288 text+image+thinking 0.15 0.6 0.015 0 MiniMax-M3.1-Flash
 MiniMax-M2.7 204800 131072 text+thinking 0.3 1.2 0.06 0.375 MiniMax-M2.7
kimi-coding openai-chat https://api.kimi.com/coding/v1 KIMI_API_KEY
 k3.1-pro 1048576 131072 text+image+thinking 2 10 0.2 0 Kimi K3.1 Pro (Kimi coding)
 k3 1048576 131072 text+image+thinking 3 15 0.3 0 Kimi K3 (Kimi coding)
 kimi-for-coding 1048576 32768 text+image+thinking 0.95 4 0.19 0 Kimi for Coding (Kimi coding)
meta openai-responses https://api.meta.ai/v1 META_API_KEY
 muse-spark-1.3 1048576 131072 text+image+thinking 1.25 4.25 0.15 0 Muse Spark 1.3
 muse-wonder-1.0 1048576 131072 text+image+thinking 4 20 0.2 0 Muse Wonder
 muse-ember-1.0 1048576 524288 text+image+thinking 0.1 0.5 0.004 0 Muse Ember
xiaomi openai-chat https://api.xiaomimimo.com/v1 XIAOMI_API_KEY
 mimo-v2.6-pro 1048576 131072 text+image+thinking 0.435 0.87 0.0036 0 MiMo-V2.6-Pro
 mimo-v2.6-flash 1048576 131072 text+image+thinking 0.14 0.28 0.0028 0 MiMo-V2.6-Flash
nvidia openai-chat https://integrate.api.nvidia.com/v1 NVIDIA_API_KEY
 nvidia/nemotron-3-ultra-550b-a55b 1000000 65536 text+thinking 0 0 0 0 Nemotron 3 Ultra 550B A55B (NVIDIA)
 z-ai/glm-5.3-flash 1000000 131072 text+image+thinking 0 0 0 0 GLM-5.3-Flash (NVIDIA)
 minimaxai/minimax-m3.1-flash 262144 262144 text+image+thinking 0 0 0 0 MiniMax-M3.1-Flash (NVIDIA)
 moonshotai/kimi-k2.6 262144 262144 text+image+thinking 0 0 0 0 Kimi K2.6 (NVIDIA)
vercel-ai-gateway openai-chat https://ai-gateway.vercel.sh/v1 AI_GATEWAY_API_KEY
 anthropic/claude-sonnet-5.5 1000000 128000 text+image+thinking 2 10 0.1 2.5 Claude Sonnet 5.5 (Vercel)
 anthropic/claude-opus-5.5 1000000 128000 text+image+thinking 4 20 0.2 5 Claude Opus 5.5 (Vercel)
 openai/gpt-6.1-sol 1050000 128000 text+image+thinking 2 10 0.1 2.5 GPT-6.1 Sol (Vercel)
 google/gemini-4-argon 1000000 1000000 text+image+thinking 2 10 0.1 0 Gemini 4 Argon (Vercel)
 zai/glm-5.3 1000000 1000000 text+thinking 1.4 4.4 0.14 0 GLM 5.3 (Vercel)
 deepseek/deepseek-v4-pro 1048600 1048600 text+thinking 1.32 3.96 0.132 0 DeepSeek V4 Pro (Vercel)
perplexity openai-responses https://api.perplexity.ai/v1 PERPLEXITY_API_KEY
 openai/gpt-5.5 1050000 128000 text+image+thinking 5 30 0.5 0 GPT-5.5 (Perplexity)
cohere openai-chat https://api.cohere.ai/compatibility/v1 COHERE_API_KEY
 command-a-reasoning-08-2025 256000 32000 text+thinking - - - - Command A Reasoning
 command-a-03-2025 256000 8000 text - - - - Command A
sambanova openai-chat https://api.sambanova.ai/v1 SAMBANOVA_API_KEY
nebius openai-chat https://api.tokenfactory.nebius.com/v1 NEBIUS_API_KEY
deepinfra openai-chat https://api.deepinfra.com/v1/openai DEEPINFRA_API_KEY
ollama-cloud openai-chat https://ollama.com/v1 OLLAMA_API_KEY
huggingface openai-chat https://router.huggingface.co/v1 HF_TOKEN
 zai-org/GLM-5.3 1048576 131072 text+thinking 1.4 4.4 0 0 GLM-5.3 (Hugging Face)
 zai-org/GLM-5.3-Flash 1048576 131072 text+image+thinking 0.15 0.5 0 0 GLM-5.3-Flash (Hugging Face)
 moonshotai/Kimi-K3 1000000 131072 text+image+thinking 3 15 0 0 Kimi K3 (Hugging Face)
 deepseek-ai/DeepSeek-V4.1-Flash 1048576 384000 text+image+thinking 0.3 1.2 0 0 DeepSeek V4.1 Flash (Hugging Face)
 Qwen/Qwen3-Coder-Next 262144 65536 text 0.2 1.5 0 0 Qwen3-Coder-Next (Hugging Face)
 openai/gpt-oss-120b 131072 32768 text+thinking 0.25 0.69 0 0 GPT OSS 120B (Hugging Face)
github-models openai-chat https://models.github.ai/inference GITHUB_MODELS_TOKEN
 openai/gpt-4.1 1047576 32768 text+image - - - - GPT-4.1 (GitHub)
 openai/gpt-4.1-mini 1047576 32768 text+image - - - - GPT-4.1 mini (GitHub)
`;
