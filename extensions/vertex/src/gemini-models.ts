import type { ProviderOptions } from "@bonsai-agent/extension";

type Model = NonNullable<ProviderOptions["models"]>[number];

/** Sizes and prices as of 2026-11-10: id, window, output cap, prices in, out and cached, name. */
const rows = `
gemini-4-argon 1048576 65536 2 10 0.1 Gemini 4 Argon
gemini-3.8-flash 1048576 65536 0.75 3.75 0.075 Gemini 3.8 Flash
gemini-3.7-flash 1048576 65536 0.75 3.75 0.075 Gemini 3.7 Flash
gemini-3.5-flash-lite 1048576 65536 0.3 2.5 0.03 Gemini 3.5 Flash Lite
gemini-3.1-pro-preview 1048576 65536 2 12 0.2 Gemini 3.1 Pro Preview
gemini-2.5-pro 1048576 65536 1.25 10 0.125 Gemini 2.5 Pro
gemini-2.5-flash 1048576 65536 0.3 2.5 0.03 Gemini 2.5 Flash
gemini-2.5-flash-lite 1048576 65536 0.1 0.4 0.01 Gemini 2.5 Flash-Lite
`;

/** Models of Vertex AI; any other id works too. */
export function vertexModels(): Model[] {
  return rows.trim().split("\n").map(modelOf);
}

/** Models of the Gemini API, which allows the newest model shorter answers. */
export function geminiModels(): Model[] {
  return vertexModels().map((model) =>
    model.id === "gemini-4-argon" ? { ...model, maxTokens: 32_768 } : model,
  );
}

function modelOf(row: string): Model {
  const [id = "", window, cap, input, output, cached, ...name] = row.split(" ");
  return {
    id,
    name: name.join(" "),
    contextWindow: Number(window),
    maxTokens: Number(cap),
    input: ["text", "image"],
    reasoning: true,
    cost: { input: Number(input), output: Number(output), cacheRead: Number(cached), cacheWrite: 0 },
  };
}

/** The generation of a model; 0 for other names. */
export function generationOf(modelId: string): number {
  if (/^gemini-(?:flash|pro)(?:-lite)?-latest/.test(modelId)) return 3;
  return Number(/gemini-(\d+(?:\.\d+)?)/.exec(modelId)?.[1] ?? 0);
}
