/** What to use when nobody named a model: a current coding model of the middle price of each provider, best first. */
export const defaultModels: readonly (readonly [provider: string, id: string])[] = [
  ["anthropic", "claude-sonnet-5-5"],
  ["openai", "gpt-6.1-sol"],
  ["google", "gemini-4-argon"],
  ["moonshotai", "kimi-k3.1-pro"],
  ["zai", "glm-5.3"],
  ["xai", "grok-4.7"],
  ["deepseek", "deepseek-v4-pro"],
  ["mistral", "devstral-latest"],
  ["openrouter", "anthropic/claude-sonnet-5.5"],
  ["groq", "openai/gpt-oss-120b"],
];
