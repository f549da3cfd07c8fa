/** The day of the prices and sizes. */
export const modelsAsOf = "2026-11-10";

/**
 * `provider api baseUrl apiKeyEnv`, then its models, indented:
 * `id window outputCap kinds inputPrice outputPrice cacheReadPrice cacheWritePrice name`.
 */
export const modelsData = `
anthropic anthropic-messages https://api.anthropic.com ANTHROPIC_API_KEY
 claude-fable-5 1000000 128000 text+image+thinking 10 50 1 12.5 Claude Fable 5
 claude-fable-5-1 1000000 128000 text+image+thinking 10 50 0.25 12.5 Claude Fable 5.1
 claude-fable-5-2 1000000 128000 text+image+thinking 8 40 0.2 10 Claude Fable 5.2
 claude-haiku-4-5 200000 64000 text+image+thinking 1 5 0.1 1.25 Claude Haiku 4.5 (latest)
 claude-haiku-4-5-20251001 200000 64000 text+image+thinking 1 5 0.1 1.25 Claude Haiku 4.5
 claude-haiku-5-5 1000000 128000 text+image+thinking 0.1 0.5 0.01 0.125 Claude Haiku 5.5
 claude-opus-4-5 200000 64000 text+image+thinking 5 25 0.5 6.25 Claude Opus 4.5 (latest)
 claude-opus-4-5-20251101 200000 64000 text+image+thinking 5 25 0.5 6.25 Claude Opus 4.5
 claude-opus-4-6 1000000 128000 text+image+thinking 5 25 0.5 6.25 Claude Opus 4.6
 claude-opus-4-7 1000000 128000 text+image+thinking 5 25 0.5 6.25 Claude Opus 4.7
 claude-opus-4-8 1000000 128000 text+image+thinking 5 25 0.5 6.25 Claude Opus 4.8
 claude-opus-5 1000000 128000 text+image+thinking 5 25 0.5 6.25 Claude Opus 5
 claude-opus-5-5 1000000 128000 text+image+thinking 4 20 0.2 5 Claude Opus 5.5
 claude-sonnet-4-5 200000 64000 text+image+thinking 3 15 0.3 3.75 Claude Sonnet 4.5 (latest)
 claude-sonnet-4-5-20250929 200000 64000 text+image+thinking 3 15 0.3 3.75 Claude Sonnet 4.5
 claude-sonnet-4-6 1000000 128000 text+image+thinking 3 15 0.3 3.75 Claude Sonnet 4.6
 claude-sonnet-5 1000000 128000 text+image+thinking 2 10 0.2 2.5 Claude Sonnet 5
 claude-sonnet-5-5 1000000 128000 text+image+thinking 2 10 0.1 2.5 Claude Sonnet 5.5
openai openai-responses https://api.openai.com/v1 OPENAI_API_KEY
 chat-latest 400000 128000 text+image+thinking 5 30 0.5 0 Chat Latest
 gpt-4 8192 8192 text 30 60 0 0 GPT-4
 gpt-4-turbo 128000 4096 text+image 10 30 0 0 GPT-4 Turbo
 gpt-4.1 1047576 32768 text+image 2 8 0.5 0 GPT-4.1
 gpt-4.1-mini 1047576 32768 text+image 0.4 1.6 0.1 0 GPT-4.1 mini
 gpt-4.1-nano 1047576 32768 text+image 0.1 0.4 0.025 0 GPT-4.1 nano
 gpt-4o 128000 16384 text+image 2.5 10 1.25 0 GPT-4o
 gpt-4o-2024-05-13 128000 4096 text+image 5 15 0 0 GPT-4o (2024-05-13)
 gpt-4o-2024-08-06 128000 16384 text+image 2.5 10 1.25 0 GPT-4o (2024-08-06)
 gpt-4o-2024-11-20 128000 16384 text+image 2.5 10 1.25 0 GPT-4o (2024-11-20)
 gpt-4o-mini 128000 16384 text+image 0.15 0.6 0.075 0 GPT-4o mini
 gpt-5 400000 128000 text+image+thinking 1.25 10 0.125 0 GPT-5
 gpt-5-chat-latest 128000 16384 text+image 1.25 10 0.125 0 GPT-5 Chat Latest
 gpt-5-mini 400000 128000 text+image+thinking 0.25 2 0.025 0 GPT-5 Mini
 gpt-5-nano 400000 128000 text+image+thinking 0.05 0.4 0.005 0 GPT-5 Nano
 gpt-5-pro 400000 128000 text+image+thinking 15 120 0 0 GPT-5 Pro
 gpt-5.1 400000 128000 text+image+thinking 1.25 10 0.125 0 GPT-5.1
 gpt-5.2 400000 128000 text+image+thinking 1.75 14 0.175 0 GPT-5.2
 gpt-5.2-pro 400000 128000 text+image+thinking 21 168 0 0 GPT-5.2 Pro
 gpt-5.3-codex 400000 128000 text+image+thinking 1.75 14 0.175 0 GPT-5.3 Codex
 gpt-5.3-codex-spark 128000 32000 text+image+thinking 1.75 14 0.175 0 GPT-5.3 Codex Spark
 gpt-5.4 272000 128000 text+image+thinking 2.5 15 0.25 0 GPT-5.4
 gpt-5.4-mini 400000 128000 text+image+thinking 0.75 4.5 0.075 0 GPT-5.4 mini
 gpt-5.4-nano 400000 128000 text+image+thinking 0.2 1.25 0.02 0 GPT-5.4 nano
 gpt-5.4-pro 1050000 128000 text+image+thinking 30 180 0 0 GPT-5.4 Pro
 gpt-5.5 272000 128000 text+image+thinking 5 30 0.5 0 GPT-5.5
 gpt-5.5-pro 1050000 128000 text+image+thinking 30 180 0 0 GPT-5.5 Pro
 gpt-5.6-cyber 400000 128000 text+image+thinking 12.5 75 1.25 15.625 GPT-5.6 Cyber
 gpt-5.6-luna 272000 128000 text+image+thinking 0.2 1.2 0.02 0.25 GPT-5.6 Luna
 gpt-5.6-sol 272000 128000 text+image+thinking 4 20 0.4 5 GPT-5.6 Sol
 gpt-5.6-terra 272000 128000 text+image+thinking 2 12 0.2 2.5 GPT-5.6 Terra
 gpt-6-astra 272000 128000 text+image+thinking 10 50 1 12.5 GPT-6 Astra
 gpt-6-luna 272000 128000 text+image+thinking 0.1 0.5 0.01 0.125 GPT-6 Luna
 gpt-6-sol 272000 128000 text+image+thinking 2 10 0.2 2.5 GPT-6 Sol
 gpt-6.1-sol 272000 128000 text+image+thinking 2 10 0.1 2.5 GPT-6.1 Sol
 gpt-6.1-terra 272000 128000 text+image+thinking 1 5 0.05 1.25 GPT-6.1 Terra
 gpt-daybreak-blue-latest 1050000 128000 text+image+thinking 4 20 0.4 5 Daybreak Blue
 gpt-daybreak-red-latest 400000 128000 text+image+thinking 12.5 75 1.25 15.625 Daybreak Red
 o1 200000 100000 text+image+thinking 15 60 7.5 0 o1
 o1-pro 200000 100000 text+image+thinking 150 600 0 0 o1-pro
 o3 200000 100000 text+image+thinking 2 8 0.5 0 o3
 o3-mini 200000 100000 text+thinking 1.1 4.4 0.55 0 o3-mini
 o3-pro 200000 100000 text+image+thinking 20 80 0 0 o3-pro
 o4-mini 200000 100000 text+image+thinking 1.1 4.4 0.275 0 o4-mini
google openai-chat https://generativelanguage.googleapis.com/v1beta/openai GEMINI_API_KEY
 gemini-2.5-computer-use-preview-10-2025 128000 64000 text+image+thinking 1.25 10 0 0 Gemini 2.5 Computer Use Preview 10-2025
 gemini-2.5-flash 1048576 65536 text+image+thinking 0.3 2.5 0.03 0 Gemini 2.5 Flash
 gemini-2.5-flash-lite 1048576 65536 text+image+thinking 0.1 0.4 0.01 0 Gemini 2.5 Flash-Lite
 gemini-2.5-pro 1048576 65536 text+image+thinking 1.25 10 0.125 0 Gemini 2.5 Pro
 gemini-3-flash-preview 1048576 65536 text+image+thinking 0.5 3 0.05 0 Gemini 3 Flash Preview
 gemini-3.1-flash-lite 1048576 65536 text+image+thinking 0.25 1.5 0.025 0 Gemini 3.1 Flash Lite
 gemini-3.1-flash-lite-preview 1048576 65536 text+image+thinking 0.25 1.5 0.025 0 Gemini 3.1 Flash Lite Preview
 gemini-3.1-pro-preview 1048576 65536 text+image+thinking 2 12 0.2 0 Gemini 3.1 Pro Preview
 gemini-3.1-pro-preview-customtools 1048576 65536 text+image+thinking 2 12 0.2 0 Gemini 3.1 Pro Preview Custom Tools
 gemini-3.5-flash 1048576 65536 text+image+thinking 1.5 9 0.15 0 Gemini 3.5 Flash
 gemini-3.5-flash-lite 1048576 65536 text+image+thinking 0.3 2.5 0.03 0 Gemini 3.5 Flash Lite
 gemini-3.6-flash 1048576 65536 text+image+thinking 0.75 3.75 0.075 0 Gemini 3.6 Flash
 gemini-3.7-flash 1048576 65536 text+image+thinking 0.75 3.75 0.075 0 Gemini 3.7 Flash
 gemini-3.8-flash 1048576 65536 text+image+thinking 0.75 3.75 0.075 0 Gemini 3.8 Flash
 gemini-4-argon 1048576 32768 text+image+thinking 2 10 0.1 0 Gemini 4 Argon
 gemini-flash-latest 1048576 65536 text+image+thinking 1.5 9 0.15 0 Gemini Flash Latest
 gemini-flash-lite-latest 1048576 65536 text+image+thinking 0.25 1.5 0.025 0 Gemini Flash-Lite Latest
 gemini-pro-latest 1048576 65536 text+image+thinking 2 12 0.2 0 Gemini Pro Latest
 gemini-robotics-er-2-preview 131072 65536 text+image+thinking 1 5 0.1 0 Gemini Robotics-ER 2 Preview
deepseek openai-chat https://api.deepseek.com DEEPSEEK_API_KEY
 deepseek-flash 1000000 384000 text+image+thinking 0.3 1.2 0.006 0 DeepSeek V4.1 Flash
 deepseek-v4-pro 1000000 384000 text+thinking 1.32 3.96 0.044 0 DeepSeek V4 Pro
xai openai-chat https://api.x.ai/v1 XAI_API_KEY
 grok-4.3 1000000 30000 text+image+thinking 1.25 2.5 0.2 0 Grok 4.3
 grok-4.5 500000 500000 text+image+thinking 2 6 0.3 0 Grok 4.5
 grok-4.6 500000 500000 text+image+thinking 2 6 0.5 0 Grok 4.6
 grok-4.7 500000 500000 text+image+thinking 2 6 0.5 0 Grok 4.7
groq openai-chat https://api.groq.com/openai/v1 GROQ_API_KEY
 llama-3.1-8b-instant 131072 131072 text 0.05 0.08 0 0 Llama 3.1 8B
 llama-3.3-70b-versatile 131072 32768 text 0.59 0.79 0 0 Llama 3.3 70B
 openai/gpt-oss-120b 131072 65536 text+thinking 0.15 0.6 0.075 0 GPT OSS 120B
 openai/gpt-oss-20b 131072 65536 text+thinking 0.075 0.3 0.0375 0 GPT OSS 20B
 openai/gpt-oss-safeguard-20b 131072 65536 text+thinking 0.075 0.3 0.0375 0 Safety GPT OSS 20B
 qwen/qwen3.6-27b 131072 16384 text+image+thinking 0.6 3 0.3 0 Qwen3.6 27B
 qwen/qwen3.8-27b 131072 16384 text+image+thinking 0.8 4 0 0 Qwen3.8 27B
mistral openai-chat https://api.mistral.ai/v1 MISTRAL_API_KEY
 codestral-2508 256000 8192 text 0.3 0.9 0.03 0 Codestral 25.08
 codestral-latest 256000 4096 text 0.3 0.9 0.03 0 Codestral (latest)
 deepseek-v4-1-flash-1017 1048576 128000 text+thinking 0.3 1.2 0.007 0 DeepSeek V4.1 Flash 1017
 devstral-2512 262144 262144 text 0.4 2 0.04 0 Devstral 2
 devstral-latest 262144 262144 text 0.4 2 0.04 0 Devstral 2
 devstral-medium-latest 262144 262144 text 0.4 2 0.04 0 Devstral 2 (latest)
 glm-5-2 1048576 131072 text+thinking 1.4 4.4 0.14 0 GLM-5.2
 labs-devstral-small-2512 256000 256000 text+image 0 0 0 0 Devstral Small 2
 labs-leanstral-1-5-1 262144 128000 text+image+thinking 0 0 0 0 Leanstral 1.5
 magistral-medium-latest 262144 16384 text+image+thinking 2 5 0.2 0 Magistral Medium (latest)
 ministral-14b-2512 262144 262144 text+image 0.2 0.2 0.02 0 Ministral 3 14B
 ministral-3b-2512 131072 262144 text+image 0.1 0.1 0.01 0 Ministral 3 3B
 ministral-3b-latest 131072 128000 text+image 0.1 0.1 0.01 0 Ministral 3B (latest)
 ministral-8b-2512 262144 262144 text+image 0.15 0.15 0.015 0 Ministral 3 8B
 ministral-8b-latest 262144 128000 text+image 0.15 0.15 0.015 0 Ministral 8B (latest)
 mistral-large-2512 262144 262144 text+image 0.5 1.5 0.05 0 Mistral Large 3
 mistral-large-4 1048576 262144 text+image+thinking 0.7 2.1 0.07 0 Mistral Large 4
 mistral-large-4-0-8 1048576 262144 text+image+thinking 0.7 2.1 0.07 0 Mistral Large 4.0.8
 mistral-large-latest 262144 262144 text+image 0.5 1.5 0.05 0 Mistral Large (latest)
 mistral-medium-2505 131072 131072 text+image 0.4 2 0.04 0 Mistral Medium 3
 mistral-medium-2508 262144 262144 text+image 0.4 2 0.04 0 Mistral Medium 3.1
 mistral-medium-2604 262144 262144 text+image+thinking 1.5 7.5 0.15 0 Mistral Medium 3.5
 mistral-medium-3.5 262144 262144 text+image+thinking 1.5 7.5 0 0 Mistral Medium 3.5
 mistral-medium-latest 262144 262144 text+image+thinking 1.5 7.5 0.15 0 Mistral Medium (latest)
 mistral-small-2506 128000 16384 text+image 0.1 0.3 0.01 0 Mistral Small 3.2
 mistral-small-2603 262144 256000 text+image+thinking 0.15 0.6 0.015 0 Mistral Small 4
 mistral-small-latest 262144 256000 text+image+thinking 0.15 0.6 0.015 0 Mistral Small (latest)
 open-mistral-nemo 128000 128000 text 0.15 0.15 0.015 0 Open Mistral Nemo
 pixtral-12b 128000 128000 text+image 0.15 0.15 0.015 0 Pixtral 12B
 voxtral-small-2507 32768 32000 text 0.1 0.4 0.01 0 Voxtral Small
 voxtral-small-latest 32768 32000 text 0.1 0.4 0.01 0 Voxtral Small (latest)
 zai-glm-5-2 1048576 131072 text+thinking 1.4 4.4 0.14 0 GLM-5.2
 zai-glm-5-3 1048576 131072 text+thinking 1.4 4.4 0.14 0 GLM-5.3
 zai-glm-5-3-flash 1048576 131072 text+image+thinking 0.15 0.5 0.03 0 GLM-5.3-Flash
moonshotai openai-chat https://api.moonshot.ai/v1 MOONSHOT_API_KEY
 kimi-k2.6 262144 262144 text+image+thinking 0.95 4 0.16 0 Kimi K2.6
 kimi-k2.7-code 262144 262144 text+image+thinking 0.95 4 0.19 0 Kimi K2.7 Code
 kimi-k2.7-code-highspeed 262144 262144 text+image+thinking 1.9 8 0.38 0 Kimi K2.7 Code HighSpeed
 kimi-k3 1048576 1048576 text+image+thinking 3 15 0.3 0 Kimi K3
 kimi-k3.1-pro 1048576 1048576 text+image+thinking 2 10 0.2 0 Kimi K3.1 Pro
 kimi-k3.1-pro-highspeed 1048576 1048576 text+image+thinking 4 20 0.2 0 Kimi K3.1 Pro Highspeed
zai openai-chat https://api.z.ai/api/coding/paas/v4 ZAI_API_KEY
 glm-4.7 204800 131072 text+thinking 0.6 2.2 0.11 0 GLM-4.7
 glm-5-turbo 200000 131072 text+thinking 1.2 4 0.24 0 GLM-5-Turbo
 glm-5.2 1000000 131072 text+thinking 1.4 4.4 0.26 0 GLM-5.2
 glm-5.2-highspeed 1000000 131072 text+thinking 0 0 0 0 GLM-5.2 Highspeed
 glm-5.3 1000000 131072 text+thinking 1.4 4.4 0.26 0 GLM-5.3
 glm-5.3-flash 1000000 131072 text+image+thinking 0.15 0.5 0.03 0 GLM-5.3-Flash
 glm-5.3-highspeed 1000000 131072 text+thinking 0 0 0 0 GLM-5.3 Highspeed
`;
