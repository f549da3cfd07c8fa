/** Makes the built-in catalogue of packages/models from a models.json: `npx tsx scripts/models-data.ts models.json`. */
import { readFileSync, writeFileSync } from "node:fs";

interface Source {
  asOf: string;
  providers: { provider: string; api: string; baseUrl: string; apiKeyEnv?: string; models: SourceModel[] }[];
}

interface SourceModel {
  id: string;
  name: string;
  contextWindow: number;
  maxOutputTokens: number;
  input: string[];
  reasoning: boolean;
  usdPerMillionTokens: { input: number; output: number; cacheRead: number; cacheWrite: number };
}

function word(value: string | number): string {
  const text = String(value);
  if (text === "" || /[\s`\\]|\$\{/.test(text))
    throw new Error(`Not one plain word: ${JSON.stringify(text)}`);
  return text;
}

function name(text: string): string {
  if (/[`\\\n]|\$\{/.test(text)) throw new Error(`Not a plain name: ${JSON.stringify(text)}`);
  return text.trim();
}

function modelLine(model: SourceModel): string {
  const { input, output, cacheRead, cacheWrite } = model.usdPerMillionTokens;
  const kinds = `${model.input.join("+")}${model.reasoning ? "+thinking" : ""}`;
  const words = [
    model.id,
    model.contextWindow,
    model.maxOutputTokens,
    kinds,
    input,
    output,
    cacheRead,
    cacheWrite,
  ];
  return ` ${words.map(word).join(" ")} ${name(model.name)}`;
}

function source({ asOf, providers }: Source): string {
  const lines = providers.flatMap(({ provider, api, baseUrl, apiKeyEnv, models }) => [
    [provider, api, baseUrl, apiKeyEnv ?? "-"].map(word).join(" "),
    ...models.map(modelLine),
  ]);
  return `// Made by scripts/models-data.ts; corrections belong in the catalogue that it reads.

/** The day of the prices and sizes. */
export const modelsAsOf = "${word(asOf)}";

/**
 * \`provider api baseUrl apiKeyEnv\`, then its models, indented:
 * \`id window outputCap kinds inputPrice outputPrice cacheReadPrice cacheWritePrice name\`.
 */
export const modelsData = \`
${lines.join("\n")}
\`;
`;
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("Name the models.json to read.");
const target = new URL("../packages/models/src/catalogue/models-data.ts", import.meta.url);
writeFileSync(target, source(JSON.parse(readFileSync(path, "utf8"))));
