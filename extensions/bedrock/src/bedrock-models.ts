import type { ProviderOptions } from "@bonsai-agent/extension";

type Model = NonNullable<ProviderOptions["models"]>[number];

/**
 * Sizes and prices as of 2026-11-10: id, window, output cap, prices in, out, cache read and cache write, name. The first is
 * the one to begin with.
 */
const rows = `
anthropic.claude-sonnet-5-5 1000000 128000 2 10 0.1 2.5 Claude Sonnet 5.5
anthropic.claude-fable-5-2 1000000 128000 8 40 0.2 10 Claude Fable 5.2
anthropic.claude-opus-5-5 1000000 128000 4 20 0.2 5 Claude Opus 5.5
anthropic.claude-opus-5 1000000 128000 5 25 0.5 6.25 Claude Opus 5
anthropic.claude-sonnet-5 1000000 128000 2 10 0.2 2.5 Claude Sonnet 5
anthropic.claude-sonnet-4-6 1000000 128000 3 15 0.3 3.75 Claude Sonnet 4.6
anthropic.claude-haiku-5-5 1000000 128000 0.1 0.5 0.01 0.125 Claude Haiku 5.5
anthropic.claude-haiku-4-5-20251001-v1:0 200000 64000 1 5 0.1 1.25 Claude Haiku 4.5
openai.gpt-6.1-sol 1050000 128000 2 10 0.1 2.5 GPT-6.1 Sol
openai.gpt-6.1-terra 1050000 128000 1 5 0.05 1.25 GPT-6.1 Terra
amazon.nova-2-lite-v1:0 1000000 65535 0.3 2.5 0.075 0.3 Nova 2 Lite
`;

/** An inference profile of a geography costs a tenth more than the global one. */
const GEO_FACTOR = 1.1;
/** The geography of a region's profiles, by the start of its name. */
const geographies: readonly (readonly [region: RegExp, prefix: string, label: string])[] = [
  [/^us-(?!gov)/, "us", "US"],
  [/^eu-/, "eu", "EU"],
  [/^ap-northeast-[13]$/, "jp", "JP"],
  [/^ap-southeast-[24]$/, "au", "AU"],
];

/**
 * The models to choose from, through the inference profiles that AWS names: `global.…`, and for Claude those of the
 * region's own geography. Any other id, or the ARN of a profile, works too.
 */
export function bedrockModels(region = ""): Model[] {
  const geography = geographies.find(([names]) => names.test(region));
  return rows
    .trim()
    .split("\n")
    .flatMap((row) => {
      const global = modelOf(row);
      const isClaude = row.startsWith("anthropic.");
      return geography === undefined || !isClaude || isGlobalOnly(row)
        ? [global]
        : [global, inGeography(global, geography)];
    });
}

function modelOf(row: string): Model {
  const [id = "", window, cap, input, output, cacheRead, cacheWrite, ...name] = row.split(" ");
  return {
    id: `global.${id}`,
    name: name.join(" "),
    contextWindow: Number(window),
    maxTokens: Number(cap),
    input: ["text", "image"],
    reasoning: true,
    cost: {
      input: Number(input),
      output: Number(output),
      cacheRead: Number(cacheRead),
      cacheWrite: Number(cacheWrite),
    },
  };
}

/** Some models are missing in some geographies. */
function isGlobalOnly(row: string): boolean {
  return row.startsWith("anthropic.claude-fable");
}

function inGeography(model: Model, [, prefix, label]: (typeof geographies)[number]): Model {
  const { input, output, cacheRead = input, cacheWrite = input } = model.cost!;
  return {
    ...model,
    id: model.id.replace(/^global/, prefix),
    name: `${model.name} (${label})`,
    cost: {
      input: raised(input),
      output: raised(output),
      cacheRead: raised(cacheRead),
      cacheWrite: raised(cacheWrite),
    },
  };
}

function raised(price: number): number {
  return Number((price * GEO_FACTOR).toFixed(6));
}
