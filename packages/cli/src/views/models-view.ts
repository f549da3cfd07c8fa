import type { ModelRow } from "../reports/model-row.ts";
import { fitLine, type Line, span } from "./line.ts";
import { counted, price, tokens } from "./numbers.ts";
import { oneLine } from "./printable.ts";
import { type Column, table } from "./table.ts";
import { wrap } from "./text-width.ts";

export interface ModelsViewOptions {
  /** What the call asked for. */
  shown: readonly ModelRow[];
  /** All models. */
  rows: readonly ModelRow[];
  search: string | undefined;
  all: boolean;
  /** The day of the prices. */
  asOf: string;
  /** Variables that hold keys. */
  keyNames: readonly string[];
  home: string;
  width: number;
}

/** Models by provider, with their sizes and prices; without any, how to come by one. */
export function* modelsView(options: ModelsViewOptions): Generator<Line> {
  const { shown, rows, search, all } = options;
  if (shown.length > 0) yield* listing(options);
  else if (search !== undefined && rows.some(({ usable }) => usable || all)) yield* noMatch(options);
  else yield* nothingUsable(options);
}

const fullWidth = 72;
const priceWidth = 52;

function* listing(options: ModelsViewOptions): Generator<Line> {
  const { shown, width } = options;
  const columns: Column[] = [
    { flexible: true },
    ...valueColumns(width).map(() => ({ align: "right" as const })),
  ];
  const heading = ["", ...valueColumns(width).map(({ name }) => name)].map((name) => [span(name, "gray")]);
  const [top, ...lines] = table([heading, ...shown.map((row) => cells(row, width))], {
    columns,
    width,
    indent: 2,
  });
  yield top!;
  for (const [at, line] of lines.entries()) {
    if (shown[at - 1]?.provider !== shown[at]!.provider) yield* providerLine(shown[at]!, at > 0, width);
    yield line;
  }
  yield [];
  yield* footer(options);
}

interface ValueColumn {
  name: string;
  value: (row: ModelRow) => string;
}

/** On a narrow screen the output caps go first, then the prices. */
function valueColumns(width: number): ValueColumn[] {
  return [
    { name: "window", value: ({ contextWindow }) => tokens(contextWindow) },
    ...(width < fullWidth ? [] : [{ name: "output", value: (row: ModelRow) => tokens(row.maxOutputTokens) }]),
    ...(width < priceWidth
      ? []
      : [
          { name: "$/M in", value: (row: ModelRow) => price(row.usdPerMillionTokens?.input) },
          { name: "$/M out", value: (row: ModelRow) => price(row.usdPerMillionTokens?.output) },
        ]),
  ];
}

function cells(row: ModelRow, width: number): Line[] {
  const style = row.isDefault ? (["bold", "cyan"] as const) : row.usable ? "cyan" : "gray";
  const reference = span(
    oneLine(`${row.provider}/${row.id}`),
    style === "cyan" || style === "gray" ? style : [...style],
  );
  const mark = row.isDefault ? [span(" ●", "green")] : [];
  return [[reference, ...mark], ...valueColumns(width).map(({ value }): Line => [value(row)])];
}

function* providerLine(
  { provider, usable, key }: ModelRow,
  isFurther: boolean,
  width: number,
): Generator<Line> {
  if (isFurther) yield [];
  const source = key === null ? (usable ? "no key needed" : "no key, or no answer") : `key from ${key}`;
  yield fitLine([span(oneLine(provider), "bold"), span(`  ${source}`, "gray")], width);
}

function* footer({ shown, asOf, home, width }: ModelsViewOptions): Generator<Line> {
  const providers = new Set(shown.map(({ provider }) => provider)).size;
  yield [span(`${counted(shown.length, "model")} of ${counted(providers, "provider")}`, "bold")];
  const chosen = shown.some(({ isDefault }) => isDefault) ? "● is used when no model is named. " : "";
  for (const text of wrap(
    `${chosen}Prices and sizes as of ${asOf}; ${home}/models.json changes them.`,
    width,
  ))
    yield [span(text, "gray")];
}

function* noMatch({ rows, search = "", all, width }: ModelsViewOptions): Generator<Line> {
  const finding = `No ${all ? "known" : "usable"} model matches ${JSON.stringify(search)}.`;
  for (const text of wrap(finding, width)) yield [text];
  const usable = rows.filter((row) => row.usable).length;
  const hint = all
    ? "Any model of a known provider works as provider/id, listed or not."
    : `${counted(usable, "model")} can be used now; \`bonsai models ${search} --all\` looks among all ${rows.length}.`;
  for (const text of wrap(hint, width)) yield [span(text, "gray")];
}

function* nothingUsable({ rows, keyNames, home, width }: ModelsViewOptions): Generator<Line> {
  const state = "No model can be used yet: no key was found, and no local server answers.";
  for (const text of wrap(state, width)) yield [span(text, ["bold", "yellow"])];
  const ways: readonly (readonly [string, string])[] = [
    ["set a key", `export ${keyNames[0]}=… (or ${keyNames.slice(1).join(", ")})`],
    ["or store it", `${home}/auth.json: {"anthropic": {"type": "api_key", "key": "…"}}`],
    ["or serve one", "Ollama, LM Studio, llama.cpp or vLLM on this machine, at its usual port"],
    ["or name yours", `${home}/models.json: {"providers": [{"provider": "box", "baseUrl": "http://…/v1"}]}`],
  ];
  for (const [label, text] of ways) {
    yield [];
    yield [span(label, "bold")];
    for (const line of wrap(text, width - 2)) yield [`  ${line}`];
  }
  yield [];
  const hint = `\`bonsai models --all\` lists the ${rows.length} known models; \`bonsai demo\` works without any.`;
  for (const text of wrap(hint, width)) yield [span(text, "gray")];
}
