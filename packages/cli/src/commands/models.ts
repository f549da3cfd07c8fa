import { join } from "node:path";
import {
  type Catalogue,
  type CatalogueModel,
  defaultModel,
  type KeyFile,
  referenceOf,
  usableModels,
} from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import type { ModelRegistry } from "../call/model-choice.ts";
import { withProgress } from "../call/output.ts";
import { agentCallSettings } from "../call/settings.ts";
import { type Column, fitLine, type Line, paragraph, type Style, span, table } from "../views/line.ts";
import { loginState, missingText } from "../views/login-state.ts";
import { counted, price, shortTokens } from "../views/numbers.ts";
import { oneLine } from "../views/terminal-text.ts";
import { withCommandModels } from "./command-models.ts";

/** Prints the available models, also those of extensions; with `--all` all known models. */
export function run(invocation: Invocation): Promise<undefined> {
  return invocation.io.interruptible((signal) =>
    withCommandModels(invocation, signal, (models) => print(invocation, models)),
  );
}

async function print(invocation: Invocation, { keys, catalogue }: ModelRegistry): Promise<void> {
  const { args, options, io, output } = invocation;
  const home = bonsaiHome(io.env);
  const settings = agentCallSettings(invocation);
  const rows = await withProgress(io, "Asking local servers", () =>
    modelRows({ catalogue, keys, usual: settings.model, home, nowMs: io.now() }),
  );
  const all = options.all === true;
  const [search] = args;
  const shown = rows.filter((row) => (all || row.usable) && matchesSearch(row, search));
  const { asOf } = catalogue;
  output.result(shown, () => modelsView({ shown, rows, search, all, asOf, home, width: output.width }));
}

interface KnownModels {
  catalogue: Catalogue;
  keys: KeyFile;
  /** `provider/id` that the settings name. */
  usual: string | undefined;
  home: string;
  nowMs: number;
}

/** The usable models of each provider, then its others. */
async function modelRows({ catalogue, keys, usual, home, nowMs }: KnownModels): Promise<ModelRow[]> {
  const usable = await usableModels({ catalogue, keys });
  const first = await defaultModel({ catalogue, keys });
  const chosen = usual ?? (first && referenceOf(first.model));
  const known = new Set(usable.map(({ model }) => referenceOf(model)));
  const row = (model: CatalogueModel, isUsable: boolean) =>
    rowOf({
      model,
      usable: isUsable,
      key: keyPlace(model, keys, home),
      state:
        loginState(model, { keys, nowMs }) ??
        (isUsable ? "no key needed" : missingText(model, keys, "bonsai login")),
      isDefault: referenceOf(model) === chosen,
    });
  return catalogue.providers.flatMap(({ provider }) => [
    ...usable.filter(({ model }) => model.provider === provider).map(({ model }) => row(model, true)),
    ...catalogue.models
      .filter((model) => model.provider === provider && !known.has(referenceOf(model)))
      .map((model) => row(model, false)),
  ]);
}

function keyPlace(model: CatalogueModel, keys: KeyFile, home: string): string | null {
  const origin = keys.source(model);
  if (origin === "environment") return model.apiKeyEnv ?? null;
  if (origin === "models") return join(home, "models.json");
  return origin === "file" || origin === "login" ? join(home, "auth.json") : null;
}

interface ModelFacts {
  model: CatalogueModel;
  usable: boolean;
  /** The environment variable or the file with the key; null without a key. */
  key: string | null;
  /** The key or login in use, or the remedy if the model is not available. */
  state: string;
  isDefault: boolean;
}

/** Null stands for an unknown size or price. */
function rowOf({ model, ...rest }: ModelFacts) {
  const { provider, id, name, contextWindow, maxOutputTokens, input, reasoning, usdPerMillionTokens } = model;
  return {
    provider,
    id,
    name,
    contextWindow: contextWindow || null,
    maxOutputTokens: maxOutputTokens || null,
    input,
    reasoning,
    usdPerMillionTokens: usdPerMillionTokens ?? null,
    ...rest,
  };
}

/** True if the reference or the name contains each word, in any case. */
function matchesSearch({ provider, id, name }: ModelRow, search = ""): boolean {
  const text = `${provider}/${id} ${name}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** One row of `bonsai models --json`. */
export type ModelRow = ReturnType<typeof rowOf>;

interface ModelsViewOptions {
  shown: readonly ModelRow[];
  rows: readonly ModelRow[];
  search: string | undefined;
  all: boolean;
  /** The day of the prices. */
  asOf: string;
  home: string;
  width: number;
}

/** Models by provider, with sizes and prices; without any, the ways to get one. */
export function* modelsView(options: ModelsViewOptions): Generator<Line> {
  const { shown, rows, search, all } = options;
  if (shown.length > 0) yield* listing(options);
  else if (search !== undefined && rows.some(({ usable }) => usable || all)) yield* noMatch(options);
  else yield* nothingUsable(options);
}

function* listing(options: ModelsViewOptions): Generator<Line> {
  const { shown, width } = options;
  const values = valueColumns.filter(({ minWidth }) => width >= minWidth);
  const columns: Column[] = [{ flexible: true }, ...values.map(() => ({ align: "right" as const }))];
  const heading = ["", ...values.map(({ name }) => name)].map((name) => [span(name, "gray")]);
  const rows = shown.map((row) => [referenceCell(row), ...values.map(({ value }) => [value(row)])]);
  const [top, ...lines] = table([heading, ...rows], { columns, width, indent: 2 });
  yield top!;
  for (const [at, line] of lines.entries()) {
    if (shown[at - 1]?.provider !== shown[at]!.provider) {
      if (at > 0) yield [];
      yield providerLine(shown[at]!, width);
    }
    yield line;
  }
  yield [];
  yield* footer(options);
}

interface ValueColumn {
  name: string;
  /** Narrower screens do not show it. */
  minWidth: number;
  value: (row: ModelRow) => string;
}

/** On a narrow screen the output caps go first, then the prices. */
const valueColumns: readonly ValueColumn[] = [
  { name: "window", minWidth: 0, value: (row) => shortTokens(row.contextWindow) },
  { name: "output", minWidth: 72, value: (row) => shortTokens(row.maxOutputTokens) },
  { name: "$/M in", minWidth: 52, value: (row) => price(row.usdPerMillionTokens?.input) },
  { name: "$/M out", minWidth: 52, value: (row) => price(row.usdPerMillionTokens?.output) },
];

function referenceCell({ provider, id, usable, isDefault }: ModelRow): Line {
  const style: Style = isDefault ? ["bold", "cyan"] : usable ? "cyan" : "gray";
  const reference = span(oneLine(`${provider}/${id}`), style);
  return isDefault ? [reference, span(" ●", "green")] : [reference];
}

function providerLine({ provider, state }: ModelRow, width: number): Line {
  return fitLine([span(oneLine(provider), "bold"), span(`  ${state}`, "gray")], width);
}

function* footer({ shown, asOf, home, width }: ModelsViewOptions): Generator<Line> {
  const providers = new Set(shown.map(({ provider }) => provider)).size;
  yield [span(`${counted(shown.length, "model")} of ${counted(providers, "provider")}`, "bold")];
  const chosen = shown.some(({ isDefault }) => isDefault) ? "● is the default model. " : "";
  const asOfNote = `Prices and sizes as of ${asOf}. Override them in ${home}/models.json.`;
  yield* paragraph(`${chosen}${asOfNote}`, width, "gray");
}

function* noMatch({ rows, search = "", all, width }: ModelsViewOptions): Generator<Line> {
  const finding = `No ${all ? "known" : "usable"} model matches ${JSON.stringify(search)}.`;
  yield* paragraph(finding, width);
  const usable = rows.filter((row) => row.usable).length;
  const hint = all
    ? "You can use any model of a known provider as PROVIDER/ID, even if it is not listed."
    : `You can use ${counted(usable, "model")} now. \`bonsai models ${search} --all\` searches all ${rows.length}.`;
  yield* paragraph(hint, width, "gray");
}

function* nothingUsable({ rows, home, width }: ModelsViewOptions): Generator<Line> {
  const state = "No model available: found no API key and no local server.";
  yield* paragraph(state, width, ["bold", "yellow"]);
  const ways: readonly (readonly [string, string])[] = [
    ["set a key", "export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, …)"],
    ["or log in", `bonsai login PROVIDER stores a login or a key in ${home}/auth.json`],
    ["or start a local server", "Ollama, LM Studio, llama.cpp or vLLM on its default port"],
    [
      "or configure your own",
      `${home}/models.json: {"providers": [{"provider": "box", "baseUrl": "http://…/v1"}]}`,
    ],
  ];
  for (const [label, text] of ways) {
    yield [];
    yield [span(label, "bold")];
    yield* paragraph(text, width, undefined, 2);
  }
  yield [];
  const hint = `\`bonsai models --all\` lists all ${rows.length} known models. \`bonsai demo\` needs no model.`;
  yield* paragraph(hint, width, "gray");
}
