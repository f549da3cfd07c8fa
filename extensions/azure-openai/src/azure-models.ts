import type { ProviderOptions } from "@bonsai-agent/extension";

type Model = NonNullable<ProviderOptions["models"]>[number];

/** Sizes and prices as of 2026-11-10: id, window, output cap, whether it thinks, prices in, out and cached, name. */
const rows = `
gpt-6.1-sol 1050000 128000 thinks 2 10 0.1 GPT-6.1 Sol
gpt-6.1-terra 1050000 128000 thinks 1 5 0.05 GPT-6.1 Terra
gpt-6-luna 1050000 128000 thinks 0.1 0.5 0.01 GPT-6 Luna
gpt-5.6-sol 1050000 128000 thinks 4 20 0.4 GPT-5.6 Sol
gpt-5.5 1050000 128000 thinks 5 30 0.5 GPT-5.5
gpt-5.4 1050000 128000 thinks 2.5 15 0.25 GPT-5.4
gpt-5.3-codex 400000 128000 thinks 1.75 14 0.175 GPT-5.3 Codex
gpt-5.2 400000 128000 thinks 1.75 14 0.175 GPT-5.2
gpt-5-mini 400000 128000 thinks 0.25 2 0.025 GPT-5 Mini
gpt-4.1 1047576 32768 - 2 8 0.5 GPT-4.1
gpt-4o 128000 16384 - 2.5 10 1.25 GPT-4o
o3 200000 100000 thinks 2 8 0.5 o3
`;

const known: readonly Model[] = rows.trim().split("\n").map(modelOf);

/**
 * The models to choose from: those that deployments are named for, else those that are mostly deployed, each under its own
 * name. Any other name is that of a deployment.
 */
export function azureModels(deployments: ReadonlyMap<string, string>): Model[] {
  if (deployments.size === 0) return [...known];
  return [...deployments.keys()].map((id) => known.find((model) => model.id === id) ?? { id });
}

function modelOf(row: string): Model {
  const [id = "", window, cap, thinks, input, output, cached, ...name] = row.split(" ");
  return {
    id,
    name: name.join(" "),
    contextWindow: Number(window),
    maxTokens: Number(cap),
    input: ["text", "image"],
    reasoning: thinks === "thinks",
    cost: { input: Number(input), output: Number(output), cacheRead: Number(cached), cacheWrite: 0 },
  };
}
