import {
  type CatalogueModel,
  type ExtensionAPI,
  type ExtensionContext,
  type Summariser,
  summariseEntries,
  summarisePreparation,
  type Usage,
} from "@bonsai-agent/extension";

/**
 * A cheaper model writes the summaries: the configured one, else the cheapest suitable one of the session's provider.
 * Without such a model, or if it fails, the default summariser runs.
 */
export default function cheapSummary(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("summary-model", {
    type: "string",
    description: "model for summaries, for example anthropic/claude-haiku-5-5; default: BONSAI_SUMMARY_MODEL",
  });
  const name = () => String(bonsai.getFlag("summary-model") || process.env.BONSAI_SUMMARY_MODEL || "");

  bonsai.on("session_start", (_event, ctx) => {
    if (name() !== "") namedModel(ctx, name());
  });

  bonsai.on("session_before_compact", ({ preparation, customInstructions, signal }, ctx) =>
    cheaply(ctx, { tokens: preparation.tokensBefore, signal }, async (summariser) => {
      const result = await summarisePreparation({ preparation, summariser, customInstructions, signal });
      return { result, usage: result.compaction.usage };
    }),
  );

  bonsai.on("session_before_tree", ({ preparation, current, signal }, ctx) => {
    if (!preparation.userWantsSummary) return undefined;
    const asked = { ...preparation, ...current };
    const { entriesToSummarize: entries, customInstructions, replaceInstructions } = asked;
    const tokens = ctx.getContextUsage()?.tokens ?? 0;
    return cheaply(ctx, { tokens, signal }, async (summariser) => {
      const how = { customInstructions, replaceInstructions, signal };
      const summary = await summariseEntries({ entries, summariser, ...how });
      return { result: { summary }, usage: summary.usage };
    });
  });

  async function cheaply<Result>(
    ctx: ExtensionContext,
    { tokens, signal }: { tokens: number; signal: AbortSignal },
    summarise: (summariser: Summariser) => Promise<{ result: Result; usage: Usage | undefined }>,
  ): Promise<Result | undefined> {
    const model = name() === "" ? cheapestModel(ctx, tokens) : namedModel(ctx, name());
    if (model === undefined) return undefined;
    try {
      const { result, usage } = await summarise(ctx.summariserFor(model));
      const isPriced = usage !== undefined && usage.isUncounted !== true;
      const price = isPriced ? ` for $${usage.cost.total.toFixed(4)}` : "";
      ctx.ui.notify(`cheap-summary: ${nameOf(model)} wrote the summary${price}.`);
      return result;
    } catch (error) {
      if (signal.aborted) throw error;
      const why = error instanceof Error ? error.message : String(error);
      ctx.ui.notify(`cheap-summary: using the default summariser instead. ${why}`, "warning");
      return undefined;
    }
  }
}

/** Undefined with a notice if the model cannot be used. */
function namedModel(
  { model, modelRegistry, ui }: ExtensionContext,
  name: string,
): CatalogueModel | undefined {
  const [provider = "", ...id] = name.split("/");
  const own = model && modelRegistry.find(model.provider, name);
  const named = modelRegistry.find(provider, id.join("/")) ?? own;
  if (named !== undefined && modelRegistry.hasConfiguredAuth(named)) return named;
  const problem = named === undefined ? "is not a known model" : "has no API key";
  ui.notify(`cheap-summary: ${name} ${problem}. Using the default summariser instead.`, "warning");
  return undefined;
}

/** Below this size the session's own model costs about the same, because its prefix is cached. */
const TIMES_CHEAPER = 5;
/** Room for instructions and the summary. */
const ROOM_TOKENS = 16_000;

function cheapestModel(ctx: ExtensionContext, tokens: number): CatalogueModel | undefined {
  const { model, modelRegistry } = ctx;
  if (model === undefined) return undefined;
  const isFit = (other: CatalogueModel) =>
    other.provider === model.provider &&
    lineOf(other) === lineOf(model) &&
    (other.reasoning || !model.reasoning) &&
    (other.contextWindow ?? 0) >= tokens + ROOM_TOKENS &&
    price(other) * TIMES_CHEAPER <= price(model);
  const fit = modelRegistry.getAvailable().filter(isFit);
  return fit.toSorted((one, other) => price(one) - price(other))[0];
}

/** Maker and variant in an id like `maker/model:variant`, of providers that serve models of many makers. */
function lineOf({ id }: CatalogueModel): string {
  return id.replace(/(?<![^/])[^/]*?(:[^/:]*)?$/, "$1");
}

/** A summary reads much and writes little. Models without a price are skipped. */
function price({ usdPerMillionTokens: prices }: CatalogueModel): number {
  const weighted = prices === undefined ? 0 : prices.input * 10 + prices.output;
  return weighted > 0 ? weighted : Number.POSITIVE_INFINITY;
}

function nameOf({ provider, id }: CatalogueModel): string {
  return `${provider}/${id}`;
}
