import {
  type CatalogueModel,
  type ExtensionAPI,
  type ExtensionContext,
  summariseEntries,
  summarisePreparation,
} from "@bonsai-agent/extension";

/**
 * A cheaper model writes the summaries: the one that `--summary-model` names, else the cheapest of the session's own
 * provider. Where it fails, the usual summary is made as if it had not been asked.
 */
export default function cheapSummary(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("summary-model", {
    type: "string",
    description: "the model that summarises, like anthropic/claude-haiku-4-5",
  });

  bonsai.on("session_before_compact", ({ preparation, customInstructions, signal }, ctx) =>
    withCheapModel(ctx, (summariser) =>
      summarisePreparation({ preparation, summariser, customInstructions, signal }),
    ),
  );

  bonsai.on("session_before_tree", ({ preparation, signal }, ctx) => {
    const { entriesToSummarize: entries, customInstructions, userWantsSummary } = preparation;
    if (!userWantsSummary) return undefined;
    return withCheapModel(ctx, async (summariser) => ({
      summary: await summariseEntries({ entries, summariser, customInstructions, signal }),
    }));
  });

  async function withCheapModel<Result>(
    ctx: ExtensionContext,
    summarise: (summariser: ReturnType<ExtensionContext["summariserFor"]>) => Promise<Result>,
  ): Promise<Result | undefined> {
    const model = summaryModel(ctx, bonsai.getFlag("summary-model"));
    if (model === undefined) return undefined;
    try {
      return await summarise(ctx.summariserFor(model));
    } catch (error) {
      if (!ctx.signal?.aborted)
        ctx.ui.notify(`cheap-summary: ${model.id} did not summarise: ${(error as Error).message}`, "warning");
      return undefined;
    }
  }
}

function summaryModel(ctx: ExtensionContext, named: unknown): CatalogueModel | undefined {
  if (typeof named === "string") return namedModel(ctx, named);
  const { model, modelRegistry } = ctx;
  if (model === undefined) return undefined;
  const cheaper = modelRegistry
    .getAvailable()
    .filter((other) => other.provider === model.provider && price(other) < price(model))
    .toSorted((one, other) => price(one) - price(other));
  return cheaper[0];
}

function namedModel({ modelRegistry, ui }: ExtensionContext, name: string): CatalogueModel | undefined {
  const [provider = "", ...id] = name.split("/");
  const model = modelRegistry.find(provider, id.join("/"));
  if (model === undefined) ui.notify(`cheap-summary: no model is called ${name}.`, "warning");
  return model;
}

/** A summary reads much and writes little. Unknown prices are not cheap. */
function price({ usdPerMillionTokens: prices }: CatalogueModel): number {
  return prices === undefined ? Number.POSITIVE_INFINITY : prices.input * 10 + prices.output;
}
