/** The models of OpenRouter, in the format of `models-data.ts`. */
export const openrouterModelsData = `
openrouter openai-chat https://openrouter.ai/api/v1 OPENROUTER_API_KEY
 anthropic/claude-fable-5 1000000 128000 text+image+thinking 10 50 1 12.5 Anthropic: Claude Fable 5
 anthropic/claude-fable-5.1 1000000 128000 text+image+thinking 10 50 0.25 12.5 Anthropic: Claude Fable 5.1
 anthropic/claude-fable-5.2 1000000 128000 text+image+thinking 8 40 0.2 10 Anthropic: Claude Fable 5.2
 anthropic/claude-haiku-4.5 200000 64000 text+image+thinking 1 5 0.1 1.25 Anthropic: Claude Haiku 4.5
 anthropic/claude-haiku-5.5 1000000 128000 text+image+thinking 0.1 0.5 0.01 0.125 Anthropic: Claude Haiku 5.5
 anthropic/claude-opus-4.1 200000 32000 text+image+thinking 15 75 1.5 18.75 Anthropic: Claude Opus 4.1
 anthropic/claude-opus-4.5 200000 64000 text+image+thinking 5 25 0.5 6.25 Anthropic: Claude Opus 4.5
 anthropic/claude-opus-4.6 1000000 128000 text+image+thinking 5 25 0.5 6.25 Anthropic: Claude Opus 4.6
 anthropic/claude-opus-4.7 1000000 128000 text+image+thinking 5 25 0.5 6.25 Anthropic: Claude Opus 4.7
 anthropic/claude-opus-4.8 1000000 128000 text+image+thinking 5 25 0.5 6.25 Anthropic: Claude Opus 4.8
 anthropic/claude-opus-5 1000000 128000 text+image+thinking 5 25 0.5 6.25 Anthropic: Claude Opus 5
 anthropic/claude-opus-5.5 1000000 128000 text+image+thinking 4 20 0.2 5 Anthropic: Claude Opus 5.5
 anthropic/claude-sonnet-4.5 1000000 64000 text+image+thinking 3 15 0.3 3.75 Anthropic: Claude Sonnet 4.5
 anthropic/claude-sonnet-4.6 1000000 128000 text+image+thinking 3 15 0.3 3.75 Anthropic: Claude Sonnet 4.6
 anthropic/claude-sonnet-5 1000000 128000 text+image+thinking 2 10 0.2 2.5 Anthropic: Claude Sonnet 5
 anthropic/claude-sonnet-5.5 1000000 128000 text+image+thinking 2 10 0.1 2.5 Anthropic: Claude Sonnet 5.5
 anthropic/claude-fable-5:batch 1000000 128000 text+image+thinking 5 25 0.5 6.25 Anthropic: Claude Fable 5 (batch)
 anthropic/claude-fable-5.1:batch 1000000 128000 text+image+thinking 5 25 0.125 6.25 Anthropic: Claude Fable 5.1 (batch)
 anthropic/claude-fable-5.2:batch 1000000 128000 text+image+thinking 4 20 0.1 5 Anthropic: Claude Fable 5.2 (batch)
 anthropic/claude-haiku-4.5:batch 200000 64000 text+image+thinking 0.5 2.5 0.05 0.625 Anthropic: Claude Haiku 4.5 (batch)
 anthropic/claude-haiku-5.5:batch 1000000 128000 text+image+thinking 0.05 0.25 0.005 0.0625 Anthropic: Claude Haiku 5.5 (batch)
 anthropic/claude-opus-4.1:batch 200000 32000 text+image+thinking 7.5 37.5 0.75 9.375 Anthropic: Claude Opus 4.1 (batch)
 anthropic/claude-opus-4.5:batch 200000 64000 text+image+thinking 2.5 12.5 0.25 3.125 Anthropic: Claude Opus 4.5 (batch)
 anthropic/claude-opus-4.6:batch 1000000 128000 text+image+thinking 2.5 12.5 0.25 3.125 Anthropic: Claude Opus 4.6 (batch)
 anthropic/claude-opus-4.7:batch 1000000 128000 text+image+thinking 2.5 12.5 0.25 3.125 Anthropic: Claude Opus 4.7 (batch)
 anthropic/claude-opus-4.8:batch 1000000 128000 text+image+thinking 2.5 12.5 0.25 3.125 Anthropic: Claude Opus 4.8 (batch)
 anthropic/claude-opus-5:batch 1000000 128000 text+image+thinking 2.5 12.5 0.25 3.125 Anthropic: Claude Opus 5 (batch)
 anthropic/claude-opus-5.5:batch 1000000 128000 text+image+thinking 2 10 0.1 2.5 Anthropic: Claude Opus 5.5 (batch)
 anthropic/claude-sonnet-4.5:batch 1000000 64000 text+image+thinking 1.5 7.5 0.15 1.875 Anthropic: Claude Sonnet 4.5 (batch)
 anthropic/claude-sonnet-4.6:batch 1000000 128000 text+image+thinking 1.5 7.5 0.15 1.875 Anthropic: Claude Sonnet 4.6 (batch)
 anthropic/claude-sonnet-5:batch 1000000 128000 text+image+thinking 1 5 0.1 1.25 Anthropic: Claude Sonnet 5 (batch)
 anthropic/claude-sonnet-5.5:batch 1000000 128000 text+image+thinking 1 5 0.05 1.25 Anthropic: Claude Sonnet 5.5 (batch)
 deepseek/deepseek-chat 163840 16384 text 0.32 0.89 0 0 DeepSeek: DeepSeek V3
 deepseek/deepseek-chat-v3-0324 128000 115200 text 0.29 1.14 0.11 0 DeepSeek: DeepSeek V3 0324
 deepseek/deepseek-chat-v3.1 163840 147456 text+thinking 0.25 0.95 0.13 0 DeepSeek: DeepSeek V3.1
 deepseek/deepseek-r1-0528 163840 32768 text+thinking 0.5 2.15 0.35 0 DeepSeek: R1 0528
 deepseek/deepseek-v3.1-terminus 163840 147456 text+thinking 0.27 1 0 0 DeepSeek: DeepSeek V3.1 Terminus
 deepseek/deepseek-v3.2 163840 147456 text+thinking 0.26 0.38 0.13 0 DeepSeek: DeepSeek V3.2
 deepseek/deepseek-v3.2-exp 163840 147456 text+thinking 0.27 0.41 0 0 DeepSeek: DeepSeek V3.2 Exp
 deepseek/deepseek-v4-flash 1048575 943717 text+thinking 0.091 0.182 0.0182 0 DeepSeek: DeepSeek V4 Flash 0423
 deepseek/deepseek-v4-flash-0731 1048576 943718 text+thinking 0.0434 0.3 0.035 0 DeepSeek: DeepSeek V4 Flash 0731
 deepseek/deepseek-v4-flash-0731:batch 1048576 384000 text+thinking 0.048 0.144 0.012 0 DeepSeek: DeepSeek V4 Flash 0731 (batch)
 deepseek/deepseek-v4-flash-vision-exp 1048575 943717 text+image+thinking 0.44 1.32 0.014 0 DeepSeek: DeepSeek V4 Flash Vision Exp
 deepseek/deepseek-v4-pro 1024000 384000 text+thinking 0.95526 1.91052 0.079605 0 DeepSeek: DeepSeek V4 Pro 0423
 deepseek/deepseek-v4-pro-0813 1048576 943718 text+thinking 0.111 4.44 0.097 0 DeepSeek: DeepSeek V4 Pro 0813
 deepseek/deepseek-v4.1-flash 1048576 943718 text+image+thinking 0.006 0.5 0.005 0 DeepSeek: DeepSeek V4.1 Flash
 deepseek/deepseek-v4.1-flash-1017 1048576 943718 text+image+thinking 0.006 0.5 0.005 0 DeepSeek: DeepSeek V4.1 Flash 1017
 deepseek/deepseek-v4.1-flash-1017:batch 1048576 943718 text+image+thinking 0.011 0.2 0.002 0 DeepSeek: DeepSeek V4.1 Flash 1017 (batch)
 deepseek/deepseek-v4.1-flash:batch 1048576 131072 text+image+thinking 0.112 0.336 0.00336 0 DeepSeek: DeepSeek V4.1 Flash (batch)
 google/gemini-2.5-flash 1048576 65535 text+image+thinking 0.3 2.5 0.03 0.083333 Google: Gemini 2.5 Flash
 google/gemini-2.5-flash-lite 1048576 65535 text+image+thinking 0.1 0.4 0.01 0.083333 Google: Gemini 2.5 Flash Lite
 google/gemini-2.5-pro 1048576 65536 text+image+thinking 1.25 10 0.125 0.375 Google: Gemini 2.5 Pro
 google/gemini-2.5-pro-preview 1048576 65536 text+image+thinking 1.25 10 0.125 0.375 Google: Gemini 2.5 Pro Preview 06-05
 google/gemini-3-flash-preview 1048576 65536 text+image+thinking 0.5 3 0.05 0.083333 Google: Gemini 3 Flash Preview
 google/gemini-3-flash-preview:batch 1048576 65536 text+image+thinking 0.25 1.5 0 0 Google: Gemini 3 Flash Preview (batch)
 google/gemini-3-pro-image 65536 32768 text+image+thinking 2 12 0.2 0.375 Google: Nano Banana Pro (Gemini 3 Pro Image)
 google/gemini-3.1-flash-lite 1048576 65536 text+image+thinking 0.25 1.5 0.025 0.083333 Google: Gemini 3.1 Flash Lite
 google/gemini-3.1-flash-lite-preview 1048576 65536 text+image+thinking 0.25 1.5 0.025 0.083333 Google: Gemini 3.1 Flash Lite Preview
 google/gemini-3.1-flash-lite:batch 1048576 65536 text+image+thinking 0.125 0.75 0.0125 0 Google: Gemini 3.1 Flash Lite (batch)
 google/gemini-3.1-pro-preview 1048576 65536 text+image+thinking 2 12 0.2 0.375 Google: Gemini 3.1 Pro Preview
 google/gemini-3.1-pro-preview-customtools 1048576 65536 text+image+thinking 2 12 0.2 0.375 Google: Gemini 3.1 Pro Preview Custom Tools
 google/gemini-3.1-pro-preview:batch 1048576 65536 text+image+thinking 1 6 0 0 Google: Gemini 3.1 Pro Preview (batch)
 google/gemini-3.5-flash 1048576 65536 text+image+thinking 1.5 9 0.15 0.083333 Google: Gemini 3.5 Flash
 google/gemini-3.5-flash-lite 1048576 65536 text+image+thinking 0.3 2.5 0.03 0.083333 Google: Gemini 3.5 Flash Lite
 google/gemini-3.5-flash-lite:batch 1048576 65536 text+image+thinking 0.15 1.25 0.015 0 Google: Gemini 3.5 Flash Lite (batch)
 google/gemini-3.5-flash:batch 1048576 65536 text+image+thinking 0.75 4.5 0.075 0 Google: Gemini 3.5 Flash (batch)
 google/gemini-3.6-flash 1048576 65536 text+image+thinking 0.75 3.75 0.075 0.041667 Google: Gemini 3.6 Flash
 google/gemini-3.6-flash:batch 1048576 65536 text+image+thinking 0.375 1.875 0.0375 0.041667 Google: Gemini 3.6 Flash (batch)
 google/gemini-3.7-flash 1048576 65536 text+image+thinking 0.75 3.75 0.075 0.041667 Google: Gemini 3.7 Flash
 google/gemini-3.7-flash:batch 1048576 65536 text+image+thinking 0.375 1.875 0.0375 0.041667 Google: Gemini 3.7 Flash (batch)
 google/gemini-3.8-flash 1048576 65536 text+image+thinking 0.825 4.125 0.0825 0.041667 Google: Gemini 3.8 Flash
 google/gemini-3.8-flash:batch 1048576 65536 text+image+thinking 0.375 1.875 0.0375 0.041667 Google: Gemini 3.8 Flash (batch)
 google/gemini-4-argon 1048576 943718 text+image+thinking 2 10 0.1 0.1875 Google: Gemini 4 Argon
 google/gemini-4-argon:batch 1048576 943718 text+image+thinking 1 5 0.05 0.1875 Google: Gemini 4 Argon (batch)
 google/gemini-nano-banana-2.1 65536 58982 text+image+thinking 1.5 7.5 0 0 Google: Nano Banana 2.1
 minimax/minimax-m2.5 65536 58982 text+thinking 0.3 1.2 0.06 0 MiniMax: MiniMax M2.5
 minimax/minimax-m2.7 196608 176947 text+thinking 0.21 0.84 0.042 0 MiniMax: MiniMax M2.7
 minimax/minimax-m3 524288 512000 text+image+thinking 0.3 1.2 0.06 0 MiniMax: MiniMax M3
 minimax/minimax-m3:batch 524288 512000 text+image+thinking 0.224 0.88 0.0448 0 MiniMax: MiniMax M3 (batch)
 minimax/minimax-m3.1-flash 1048576 524288 text+image+thinking 0.15 0.6 0.015 0 MiniMax: MiniMax M3.1 Flash
 mistralai/codestral-2508 256000 204800 text 0.3 0.9 0.03 0 Mistral: Codestral 2508
 mistralai/devstral-2512 262144 209715 text 0.4 2 0.04 0 Mistral: Devstral 2 2512
 mistralai/ministral-14b-2512 262144 209715 text+image 0.2 0.2 0.02 0 Mistral: Ministral 3 14B 2512
 mistralai/ministral-3b-2512 131072 104857 text+image 0.1 0.1 0.01 0 Mistral: Ministral 3 3B 2512
 mistralai/ministral-8b-2512 262144 209715 text+image 0.15 0.15 0.015 0 Mistral: Ministral 3 8B 2512
 mistralai/mistral-large 128000 102400 text 2 6 0.2 0 Mistral Large
 mistralai/mistral-large-2407 131072 104857 text 2 6 0.2 0 Mistral Large 2407
 mistralai/mistral-large-2512 262144 209715 text+image 0.5 1.5 0.05 0 Mistral: Mistral Large 3 2512
 mistralai/mistral-large-4-0 1048576 262144 text+image+thinking 0.7 2.1 0.07 0 Mistral: Mistral Large 4
 mistralai/mistral-medium-3 131072 104857 text+image 0.4 2 0.04 0 Mistral: Mistral Medium 3
 mistralai/mistral-medium-3-5 262144 209715 text+image+thinking 1.5 7.5 0 0 Mistral: Mistral Medium 3.5
 mistralai/mistral-medium-3-5:batch 262144 209715 text+image+thinking 0.75 3.75 0 0 Mistral: Mistral Medium 3.5 (batch)
 mistralai/mistral-medium-3.1 131072 104857 text+image 0.4 2 0.04 0 Mistral: Mistral Medium 3.1
 mistralai/mistral-nemo 131072 16384 text 0.029 0.03 0 0 Mistral: Mistral Nemo
 mistralai/mistral-saba 32768 26214 text 0.2 0.6 0.02 0 Mistral: Saba
 mistralai/mistral-small-2603 262144 209715 text+image+thinking 0.15 0.6 0.015 0 Mistral: Mistral Small 4
 mistralai/mistral-small-3.1-24b-instruct 128000 102400 text+image 0.351 0.555 0 0 Mistral: Mistral Small 3.1 24B
 mistralai/mistral-small-3.2-24b-instruct 32768 26214 text+image 0.1 0.3 0.01 0 Mistral: Mistral Small 3.2 24B
 mistralai/mixtral-8x22b-instruct 65536 52428 text 2 6 0.2 0 Mistral: Mixtral 8x22B Instruct
 mistralai/voxtral-small-24b-2507 32768 26214 text 0.1 0.3 0.01 0 Mistral: Voxtral Small 24B 2507
 moonshotai/kimi-k2 131072 98304 text 0.57 2.3 0 0 MoonshotAI: Kimi K2 0711
 moonshotai/kimi-k2-0905 262144 98304 text 0.6 2.5 0 0 MoonshotAI: Kimi K2 0905
 moonshotai/kimi-k2-thinking 262144 98304 text+thinking 0.6 2.5 0.15 0 MoonshotAI: Kimi K2 Thinking
 moonshotai/kimi-k2.5 256000 4096 text+image+thinking 0.41 2.06 0.07 0 MoonshotAI: Kimi K2.5
 moonshotai/kimi-k2.6 262144 235929 text+image+thinking 0.65 3.41 0.15 0 MoonshotAI: Kimi K2.6
 moonshotai/kimi-k2.7-code 262144 235929 text+image+thinking 0.6 3.5 0.16 0 MoonshotAI: Kimi K2.7 Code
 moonshotai/kimi-k3 1048576 131072 text+image+thinking 0.192 16 0.182 0 MoonshotAI: Kimi K3
 moonshotai/kimi-k3:batch 1048576 16384 text+image+thinking 2.28 11.4 0.228 0 MoonshotAI: Kimi K3 (batch)
 moonshotai/kimi-k3.1-pro 1048576 131072 text+image+thinking 2 10 0.2 0 MoonshotAI: Kimi K3.1 Pro
 openai/gpt-3.5-turbo-0613 4095 3685 text 1 2 0 0 OpenAI: GPT-3.5 Turbo (older v0613)
 openai/gpt-3.5-turbo-16k 16385 4096 text 3 4 0 0 OpenAI: GPT-3.5 Turbo 16k
 openai/gpt-4 8191 4096 text 30 60 0 0 OpenAI: GPT-4
 openai/gpt-4-turbo:batch 128000 4096 text+image 5 15 0 0 OpenAI: GPT-4 Turbo (batch)
 openai/gpt-4.1 1047576 32768 text+image 2 8 0.5 0 OpenAI: GPT-4.1
 openai/gpt-4.1-mini 1047576 32768 text+image 0.4 1.6 0.1 0 OpenAI: GPT-4.1 Mini
 openai/gpt-4.1-mini:batch 1047576 32768 text+image 0.2 0.8 0.05 0 OpenAI: GPT-4.1 Mini (batch)
 openai/gpt-4.1-nano 1047576 942818 text+image 0.1 0.4 0.03 0 OpenAI: GPT-4.1 Nano
 openai/gpt-4.1-nano:batch 1047576 32768 text+image 0.05 0.2 0.0125 0 OpenAI: GPT-4.1 Nano (batch)
 openai/gpt-4.1:batch 1047576 32768 text+image 1 4 0.25 0 OpenAI: GPT-4.1 (batch)
 openai/gpt-4o 128000 16384 text+image 2.5 10 1.25 0 OpenAI: GPT-4o
 openai/gpt-4o-2024-05-13 128000 4096 text+image 5 15 0 0 OpenAI: GPT-4o (2024-05-13)
 openai/gpt-4o-2024-08-06 128000 16384 text+image 2.5 10 1.25 0 OpenAI: GPT-4o (2024-08-06)
 openai/gpt-4o-2024-11-20 128000 16384 text+image 2.5 10 1.25 0 OpenAI: GPT-4o (2024-11-20)
 openai/gpt-4o-mini 128000 16384 text+image 0.15 0.6 0.075 0 OpenAI: GPT-4o-mini
 openai/gpt-4o-mini-2024-07-18 128000 16384 text+image 0.15 0.6 0.075 0 OpenAI: GPT-4o-mini (2024-07-18)
 openai/gpt-4o-mini:batch 128000 16384 text+image 0.075 0.3 0.0375 0 OpenAI: GPT-4o-mini (batch)
 openai/gpt-4o:batch 128000 16384 text+image 1.25 5 0.625 0 OpenAI: GPT-4o (batch)
 openai/gpt-5 400000 128000 text+image+thinking 1.25 10 0.125 0 OpenAI: GPT-5
 openai/gpt-5-mini 400000 128000 text+image+thinking 0.25 2 0.025 0 OpenAI: GPT-5 Mini
 openai/gpt-5-mini:batch 400000 128000 text+image+thinking 0.125 1 0.0125 0 OpenAI: GPT-5 Mini (batch)
 openai/gpt-5-nano 400000 128000 text+image+thinking 0.05 0.4 0.005 0 OpenAI: GPT-5 Nano
 openai/gpt-5-nano:batch 400000 128000 text+image+thinking 0.025 0.2 0.0025 0 OpenAI: GPT-5 Nano (batch)
 openai/gpt-5-pro 400000 128000 text+image+thinking 15 120 0 0 OpenAI: GPT-5 Pro
 openai/gpt-5-pro:batch 400000 128000 text+image+thinking 7.5 60 0 0 OpenAI: GPT-5 Pro (batch)
 openai/gpt-5:batch 400000 128000 text+image+thinking 0.625 5 0.0625 0 OpenAI: GPT-5 (batch)
 openai/gpt-5.1 400000 128000 text+image+thinking 1.25 10 0.125 0 OpenAI: GPT-5.1
 openai/gpt-5.1-codex 400000 128000 text+image+thinking 1.25 10 0.13 0 OpenAI: GPT-5.1-Codex
 openai/gpt-5.1-codex-max 400000 128000 text+image+thinking 1.25 10 0.125 0 OpenAI: GPT-5.1-Codex-Max
 openai/gpt-5.1-codex-mini 400000 128000 text+image+thinking 0.25 2 0.03 0 OpenAI: GPT-5.1-Codex-Mini
 openai/gpt-5.1:batch 400000 128000 text+image+thinking 0.625 5 0.0625 0 OpenAI: GPT-5.1 (batch)
 openai/gpt-5.2 400000 128000 text+image+thinking 1.75 14 0.175 0 OpenAI: GPT-5.2
 openai/gpt-5.2-chat 128000 32000 text+image 1.75 14 0.175 0 OpenAI: GPT-5.2 Chat
 openai/gpt-5.2-codex 400000 128000 text+image+thinking 1.75 14 0.175 0 OpenAI: GPT-5.2-Codex
 openai/gpt-5.2-pro 400000 128000 text+image+thinking 21 168 0 0 OpenAI: GPT-5.2 Pro
 openai/gpt-5.2-pro:batch 400000 128000 text+image+thinking 10.5 84 0 0 OpenAI: GPT-5.2 Pro (batch)
 openai/gpt-5.2:batch 400000 128000 text+image+thinking 0.875 7 0.0875 0 OpenAI: GPT-5.2 (batch)
 openai/gpt-5.3-codex 400000 128000 text+image+thinking 1.75 14 0.175 0 OpenAI: GPT-5.3-Codex
 openai/gpt-5.4 1050000 128000 text+image+thinking 2.5 15 0.25 0 OpenAI: GPT-5.4
 openai/gpt-5.4-mini 400000 128000 text+image+thinking 0.75 4.5 0.075 0 OpenAI: GPT-5.4 Mini
 openai/gpt-5.4-mini:batch 400000 128000 text+image+thinking 0.375 2.25 0.0375 0 OpenAI: GPT-5.4 Mini (batch)
 openai/gpt-5.4-nano 400000 128000 text+image+thinking 0.2 1.25 0.02 0 OpenAI: GPT-5.4 Nano
 openai/gpt-5.4-nano:batch 400000 128000 text+image+thinking 0.1 0.625 0.01 0 OpenAI: GPT-5.4 Nano (batch)
 openai/gpt-5.4-pro 1050000 128000 text+image+thinking 30 180 0 0 OpenAI: GPT-5.4 Pro
 openai/gpt-5.4-pro:batch 1050000 128000 text+image+thinking 15 90 0 0 OpenAI: GPT-5.4 Pro (batch)
 openai/gpt-5.4:batch 1050000 128000 text+image+thinking 1.25 7.5 0.125 0 OpenAI: GPT-5.4 (batch)
 openai/gpt-5.5 1050000 128000 text+image+thinking 5 30 0.5 0 OpenAI: GPT-5.5
 openai/gpt-5.5-pro 1050000 128000 text+image+thinking 30 180 0 0 OpenAI: GPT-5.5 Pro
 openai/gpt-5.5-pro:batch 1050000 128000 text+image+thinking 15 90 0 0 OpenAI: GPT-5.5 Pro (batch)
 openai/gpt-5.5:batch 1050000 128000 text+image+thinking 2.5 15 0.25 0 OpenAI: GPT-5.5 (batch)
 openai/gpt-5.6-luna 1050000 128000 text+image+thinking 0.2 1.2 0.02 0.25 OpenAI: GPT-5.6 Luna
 openai/gpt-5.6-luna-pro 1050000 128000 text+image+thinking 0.2 1.2 0.02 0.25 OpenAI: GPT-5.6 Luna Pro
 openai/gpt-5.6-luna-pro:batch 1050000 128000 text+image+thinking 0.1 0.6 0.01 0 OpenAI: GPT-5.6 Luna Pro (batch)
 openai/gpt-5.6-luna:batch 1050000 128000 text+image+thinking 0.1 0.6 0.01 0 OpenAI: GPT-5.6 Luna (batch)
 openai/gpt-5.6-sol 1050000 128000 text+image+thinking 4 20 0.4 5 OpenAI: GPT-5.6 Sol
 openai/gpt-5.6-sol-pro 1050000 128000 text+image+thinking 4 20 0.4 5 OpenAI: GPT-5.6 Sol Pro
 openai/gpt-5.6-sol-pro:batch 1050000 128000 text+image+thinking 2 10 0.2 2.5 OpenAI: GPT-5.6 Sol Pro (batch)
 openai/gpt-5.6-sol:batch 1050000 128000 text+image+thinking 2 10 0.2 2.5 OpenAI: GPT-5.6 Sol (batch)
 openai/gpt-5.6-terra 1050000 128000 text+image+thinking 2 12 0.2 2.5 OpenAI: GPT-5.6 Terra
 openai/gpt-5.6-terra-pro 1050000 128000 text+image+thinking 2 12 0.2 2.5 OpenAI: GPT-5.6 Terra Pro
 openai/gpt-5.6-terra-pro:batch 1050000 128000 text+image+thinking 1 6 0.1 0 OpenAI: GPT-5.6 Terra Pro (batch)
 openai/gpt-5.6-terra:batch 1050000 128000 text+image+thinking 1 6 0.1 0 OpenAI: GPT-5.6 Terra (batch)
 openai/gpt-6-astra 1050000 128000 text+image+thinking 10 50 1 12.5 OpenAI: GPT-6 Astra
 openai/gpt-6-astra-pro 1050000 128000 text+image+thinking 10 50 1 12.5 OpenAI: GPT-6 Astra Pro
 openai/gpt-6-astra-pro:batch 1050000 128000 text+image+thinking 5 25 0.5 6.25 OpenAI: GPT-6 Astra Pro (batch)
 openai/gpt-6-astra:batch 1050000 128000 text+image+thinking 5 25 0.5 6.25 OpenAI: GPT-6 Astra (batch)
 openai/gpt-6-luna 1050000 128000 text+image+thinking 0.1 0.5 0.01 0.125 OpenAI: GPT-6 Luna
 openai/gpt-6-luna-pro 1050000 128000 text+image+thinking 0.1 0.5 0.01 0.125 OpenAI: GPT-6 Luna Pro
 openai/gpt-6-luna-pro:batch 1050000 128000 text+image+thinking 0.05 0.25 0.005 0.0625 OpenAI: GPT-6 Luna Pro (batch)
 openai/gpt-6-luna:batch 1050000 128000 text+image+thinking 0.05 0.25 0.005 0.0625 OpenAI: GPT-6 Luna (batch)
 openai/gpt-6-sol 1050000 128000 text+image+thinking 2 10 0.2 2.5 OpenAI: GPT-6 Sol
 openai/gpt-6-sol-pro 1050000 128000 text+image+thinking 2 10 0.2 2.5 OpenAI: GPT-6 Sol Pro
 openai/gpt-6-sol-pro:batch 1050000 128000 text+image+thinking 1 5 0.1 1.25 OpenAI: GPT-6 Sol Pro (batch)
 openai/gpt-6-sol:batch 1050000 128000 text+image+thinking 1 5 0.1 1.25 OpenAI: GPT-6 Sol (batch)
 openai/gpt-6.1-sol 1050000 128000 text+image+thinking 2 10 0.1 2.5 OpenAI: GPT-6.1 Sol
 openai/gpt-6.1-sol-pro 1050000 128000 text+image+thinking 2 10 0.1 2.5 OpenAI: GPT-6.1 Sol Pro
 openai/gpt-6.1-sol-pro:batch 1050000 128000 text+image+thinking 1 5 0.05 1.25 OpenAI: GPT-6.1 Sol Pro (batch)
 openai/gpt-6.1-sol:batch 1050000 128000 text+image+thinking 1 5 0.05 1.25 OpenAI: GPT-6.1 Sol (batch)
 openai/gpt-6.1-terra 1050000 128000 text+image+thinking 1 5 0.05 1.25 OpenAI: GPT-6.1 Terra
 openai/gpt-6.1-terra-pro 1050000 128000 text+image+thinking 1 5 0.05 1.25 OpenAI: GPT-6.1 Terra Pro
 openai/gpt-6.1-terra-pro:batch 1050000 128000 text+image+thinking 0.5 2.5 0.025 0.625 OpenAI: GPT-6.1 Terra Pro (batch)
 openai/gpt-6.1-terra:batch 1050000 128000 text+image+thinking 0.5 2.5 0.025 0.625 OpenAI: GPT-6.1 Terra (batch)
 openai/gpt-audio 128000 16384 text 2.5 10 0 0 OpenAI: GPT Audio
 openai/gpt-audio-mini 128000 16384 text 0.6 2.4 0 0 OpenAI: GPT Audio Mini
 openai/gpt-chat-latest 400000 128000 text+image 5 30 0.5 0 OpenAI: GPT Chat Latest
 openai/gpt-oss-120b 131072 65536 text+thinking 0.15 0.6 0.075 0 OpenAI: gpt-oss-120b
 openai/gpt-oss-120b:batch 131072 117964 text+thinking 0.0296 0.136 0 0 OpenAI: gpt-oss-120b (batch)
 openai/gpt-oss-20b 131072 117964 text+thinking 0.03 0.13 0.03 0 OpenAI: gpt-oss-20b
 openai/gpt-oss-20b:batch 131072 117964 text+thinking 0.024 0.112 0 0 OpenAI: gpt-oss-20b (batch)
 openai/gpt-oss-safeguard-20b 131072 65536 text+thinking 0.075 0.3 0.0375 0 OpenAI: gpt-oss-safeguard-20b
 openai/o3 200000 100000 text+image+thinking 2 8 0.5 0 OpenAI: o3
 openai/o3-mini:batch 200000 100000 text+thinking 0.55 2.2 0.275 0 OpenAI: o3 Mini (batch)
 openai/o3-pro 200000 100000 text+image+thinking 20 80 0 0 OpenAI: o3 Pro
 openai/o3:batch 200000 100000 text+image+thinking 1 4 0.25 0 OpenAI: o3 (batch)
 openai/o4-mini:batch 200000 100000 text+image+thinking 0.55 2.2 0.1375 0 OpenAI: o4 Mini (batch)
 qwen/qwen-2.5-72b-instruct 32768 16384 text 0.36 0.4 0 0 Qwen2.5 72B Instruct
 qwen/qwen-2.5-7b-instruct 32768 29491 text 0.1 0.2 0 0 Qwen: Qwen2.5 7B Instruct
 qwen/qwen-plus 1000000 32768 text 0.26 0.78 0.052 0.325 Qwen: Qwen-Plus
 qwen/qwen3-14b 40960 36864 text+thinking 0.1 0.22 0 0 Qwen: Qwen3 14B
 qwen/qwen3-235b-a22b-2507 131072 117964 text 0.14 0.8 0.05 0 Qwen: Qwen3 235B A22B Instruct 2507
 qwen/qwen3-235b-a22b-thinking-2507 128000 16384 text+thinking 0.45 3.5 0 0 Qwen: Qwen3 235B A22B Thinking 2507
 qwen/qwen3-30b-a3b 40960 16384 text+thinking 0.12 0.5 0 0 Qwen: Qwen3 30B A3B
 qwen/qwen3-30b-a3b-instruct-2507 262144 235929 text 0.1 0.3 0.1 0 Qwen: Qwen3 30B A3B Instruct 2507
 qwen/qwen3-32b 40960 16384 text+thinking 0.08 0.28 0 0 Qwen: Qwen3 32B
 qwen/qwen3-coder 262144 65536 text 0.3 1 0.1 0 Qwen: Qwen3 Coder 480B A35B
 qwen/qwen3-coder-30b-a3b-instruct 262144 235929 text 0.15 0.6 0 0 Qwen: Qwen3 Coder 30B A3B Instruct
 qwen/qwen3-coder-flash 1000000 65536 text 0.195 0.975 0.039 0.24375 Qwen: Qwen3 Coder Flash
 qwen/qwen3-coder-next 262144 235929 text 0.12 0.8 0.07 0 Qwen: Qwen3 Coder Next
 qwen/qwen3-next-80b-a3b-instruct 262144 16384 text 0.09 1.1 0 0 Qwen: Qwen3 Next 80B A3B Instruct
 qwen/qwen3-vl-235b-a22b-instruct 131072 32768 text+image 0.21 1.9 0.1 0 Qwen: Qwen3 VL 235B A22B Instruct
 qwen/qwen3-vl-30b-a3b-instruct 262144 16384 text+image 0.15 0.6 0 0 Qwen: Qwen3 VL 30B A3B Instruct
 qwen/qwen3-vl-30b-a3b-thinking 262144 235929 text+image+thinking 0.29 1 0 0 Qwen: Qwen3 VL 30B A3B Thinking
 qwen/qwen3-vl-8b-instruct 262144 235929 text+image 0.25 0.75 0.12 0 Qwen: Qwen3 VL 8B Instruct
 qwen/qwen3.5-122b-a10b 262144 65536 text+image+thinking 0.26 2.08 0 0 Qwen: Qwen3.5-122B-A10B
 qwen/qwen3.5-27b 262144 81920 text+image+thinking 0.26 2.6 0 0 Qwen: Qwen3.5-27B
 qwen/qwen3.5-35b-a3b 262144 81920 text+image+thinking 0.14 1 0.05 0 Qwen: Qwen3.5-35B-A3B
 qwen/qwen3.5-397b-a17b 256000 64000 text+image+thinking 0.6 3.6 0.12 0 Qwen: Qwen3.5 397B A17B
 qwen/qwen3.5-9b 262144 235929 text+image+thinking 0.17 0.25 0 0 Qwen: Qwen3.5-9B
 qwen/qwen3.5-flash-02-23 1000000 65536 text+image+thinking 0.065 0.26 0 0 Qwen: Qwen3.5-Flash
 qwen/qwen3.5-plus-02-15 1000000 65536 text+image+thinking 0.26 1.56 0 0 Qwen: Qwen3.5 Plus 2026-02-15
 qwen/qwen3.5-plus-20260420 1000000 65536 text+image+thinking 0.3 1.8 0 0.375 Qwen: Qwen3.5 Plus 2026-04-20
 qwen/qwen3.6-27b 262144 81920 text+image+thinking 0.32 3.2 0 0 Qwen: Qwen3.6 27B
 qwen/qwen3.6-35b-a3b 262144 235929 text+image+thinking 0.1 0.9 0.025 0 Qwen: Qwen3.6 35B A3B
 qwen/qwen3.6-flash 1000000 65536 text+image+thinking 0.1875 1.125 0 0.234375 Qwen: Qwen3.6 Flash
 qwen/qwen3.6-plus 1000000 65536 text+image+thinking 0.325 1.95 0 0.40625 Qwen: Qwen3.6 Plus
 qwen/qwen3.7-flash 1000000 65536 text+image+thinking 0.03 0.13 0.006 0.038 Qwen: Qwen3.7 Flash
 qwen/qwen3.7-max 1000000 131072 text+thinking 1.475 4.425 0.295 1.84375 Qwen: Qwen3.7 Max
 qwen/qwen3.7-plus 1000000 131072 text+image+thinking 0.32 1.28 0.064 0.4 Qwen: Qwen3.7 Plus
 qwen/qwen3.7-plus:batch 262144 131072 text+image+thinking 0.23 0.92 0 0 Qwen: Qwen3.7 Plus (batch)
 qwen/qwen3.8-2.4t-a95b 1048576 131072 text+thinking 2 6 0.25 0 Qwen: Qwen3.8 2.4T A95B
 qwen/qwen3.8-27b 262144 235929 text+image+thinking 0.15 1.875 0.0375 0 Qwen: Qwen3.8 27B
 qwen/qwen3.8-27b:batch 262144 235929 text+image+thinking 0.16 2 0.04 0 Qwen: Qwen3.8 27B (batch)
 qwen/qwen3.8-flash 1000000 131072 text+image+thinking 0.15 0.47 0.016 0 Qwen: Qwen3.8 Flash
 qwen/qwen3.8-max-0902 1000000 131072 text+image+thinking 2 6 0.25 0 Qwen: Qwen3.8 Max (0902)
 qwen/qwen3.8-max-0902:batch 262144 131072 text+image+thinking 1.15 3.45 0 0 Qwen: Qwen3.8 Max (0902) (batch)
 qwen/qwen3.8-max-prime 1000000 131072 text+image+thinking 4 12 0.5 0 Qwen: Qwen3.8 Max Prime
 qwen/qwen3.8-omni-flash 1000000 131072 text+image+thinking 0.15 0.47 0.016 0 Qwen: Qwen3.8 Omni Flash
 x-ai/grok-4.20 2000000 1800000 text+image+thinking 1.25 2.5 0.2 0 SpaceXAI: Grok 4.20
 x-ai/grok-4.3 1000000 900000 text+image+thinking 1.25 2.5 0.2 0 SpaceXAI: Grok 4.3
 x-ai/grok-4.3:batch 1000000 900000 text+image+thinking 1 2 0.16 0 SpaceXAI: Grok 4.3 (batch)
 x-ai/grok-4.5 500000 450000 text+image+thinking 2 6 0.3 0 SpaceXAI: Grok 4.5
 x-ai/grok-4.6 500000 450000 text+image+thinking 2 6 0.5 0 SpaceXAI: Grok 4.6
 x-ai/grok-4.6:batch 500000 450000 text+image+thinking 1.6 4.8 0.4 0 SpaceXAI: Grok 4.6 (batch)
 x-ai/grok-4.7 500000 450000 text+image+thinking 2 6 0.5 0 SpaceXAI: Grok 4.7
 x-ai/grok-4.7:batch 500000 450000 text+image+thinking 1.6 4.8 0.4 0 SpaceXAI: Grok 4.7 (batch)
 x-ai/grok-build-0.1 256000 230400 text+image+thinking 1 2 0.2 0 SpaceXAI: Grok Build 0.1
 z-ai/glm-4.5 131072 98304 text+thinking 0.6 2.2 0.11 0 Z.ai: GLM 4.5
 z-ai/glm-4.5-air 131072 98304 text+thinking 0.2 1.1 0.03 0 Z.ai: GLM 4.5 Air
 z-ai/glm-4.5v 65536 16384 text+image+thinking 0.6 1.8 0.11 0 Z.ai: GLM 4.5V
 z-ai/glm-4.6 202752 131072 text+thinking 0.5 2 0.1 0 Z.ai: GLM 4.6
 z-ai/glm-4.6v 131072 32768 text+image+thinking 0.3 0.9 0.055 0 Z.ai: GLM 4.6V
 z-ai/glm-4.7 204800 131072 text+thinking 0.6 2.2 0.11 0 Z.ai: GLM 4.7
 z-ai/glm-4.7-flash 131072 117964 text+thinking 0.0605 0.4 0 0 Z.ai: GLM 4.7 Flash
 z-ai/glm-5 202752 131072 text+thinking 0.6 1.9 0.119 0 Z.ai: GLM 5
 z-ai/glm-5-turbo 202752 131072 text+thinking 1.2 4 0.24 0 Z.ai: GLM 5 Turbo
 z-ai/glm-5.1 202752 131072 text+thinking 1.4 4.4 0.26 0 Z.ai: GLM 5.1
 z-ai/glm-5.2 1048576 943718 text+thinking 0.0062 6.8 0.0052 0 Z.ai: GLM 5.2
 z-ai/glm-5.2:batch 1048576 943718 text+thinking 0.527 1.075 0.178 0 Z.ai: GLM 5.2 (batch)
 z-ai/glm-5.3 1048576 943718 text+thinking 0.0699 1.4 0.0689 0 Z.ai: GLM 5.3
 z-ai/glm-5.3-flash 1048575 943717 text+image+thinking 0.15 0.5 0.03 0 Z.ai: GLM 5.3 Flash
 z-ai/glm-5.3-flash:batch 1048576 943718 text+image+thinking 0.03 0.061 0.013 0 Z.ai: GLM 5.3 Flash (batch)
 z-ai/glm-5.3-flashx 1048576 131072 text+image+thinking 0.37 1.25 0.075 0 Z.ai: GLM 5.3 FlashX
 z-ai/glm-5.3-flashx-legal 1048576 131072 text+image+thinking 0.37 1.25 0.075 0 Z.ai: GLM 5.3 FlashX Legal
 z-ai/glm-5.3-prime 1000000 131072 text+thinking 2.8 8.8 0.56 0 Z.ai: GLM 5.3 Prime
 z-ai/glm-5.3:batch 1048576 131072 text+thinking 0.45 2 0.1 0 Z.ai: GLM 5.3 (batch)
 z-ai/glm-5v-turbo 202752 131072 text+image+thinking 1.2 4 0.24 0 Z.ai: GLM 5V Turbo
`;
