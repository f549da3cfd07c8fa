import type { ProviderConfig } from "../catalogue-model.ts";

const ports = { ollama: 11434, lmstudio: 1234, llamacpp: 8080, vllm: 8000 } as const;

/** Servers on this machine at their usual ports; none wants a key. `OLLAMA_HOST` moves `ollama`. */
export function localProviders(env: Readonly<Record<string, string | undefined>>): ProviderConfig[] {
  return Object.entries(ports).map(([provider, port]) => ({
    provider,
    api: "openai-chat",
    baseUrl: provider === "ollama" ? ollamaUrl(env.OLLAMA_HOST) : `http://127.0.0.1:${port}/v1`,
  }));
}

/** The variable holds what Ollama listens on: `box`, `:11500`, `0.0.0.0:11434`, `https://box/ollama`. */
function ollamaUrl(host = ""): string {
  const usual = `http://127.0.0.1:${ports.ollama}/v1`;
  const text = host.trim();
  if (text === "") return usual;
  const hasScheme = /^https?:\/\//i.test(text);
  const url = URL.parse(hasScheme ? text : `http://${text.replace(/^:/, "127.0.0.1:")}`);
  if (url === null) return usual;
  if (!hasScheme && !/:\d+(\/|$)/.test(text)) url.port = String(ports.ollama);
  // To listen everywhere is no address to ask.
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  return `${url.href.replace(/(?<!\/)\/+$/, "")}/v1`;
}

/** True for a server on this machine. */
export function isLoopback({ baseUrl }: Pick<ProviderConfig, "baseUrl">): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\./.test(host);
}
