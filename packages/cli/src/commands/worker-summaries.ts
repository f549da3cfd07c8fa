import { summariserFor } from "@bonsai-agent/agent";
import { modelNotice } from "@bonsai-agent/agent/host";
import { type CatalogueModel, referenceOf } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import type { OpenDatabase } from "../call/database.ts";
import type { Invocation } from "../call/invocation.ts";
import { openModels, usableModel } from "../call/model-choice.ts";
import { readCallSettings } from "../call/settings.ts";

interface MakeSummariesOptions {
  pool: OpenDatabase["pool"];
  concurrency: number;
  /** Ends the work. Running summaries may then end within the grace time. */
  signal: AbortSignal;
  graceMs: number;
  log: (sessionId: string, event: string, model: string) => void;
}

/** Opens the models of this host. Returns a function that makes summaries with them, for the owners of other sessions. */
export async function summaryMaker(
  invocation: Invocation,
): Promise<(options: MakeSummariesOptions) => Promise<void>> {
  const { io, output } = invocation;
  const { makeDrafts } = await import("@bonsai-agent/postgres");
  const onNotice = (notice: Parameters<typeof output.notify>[0]) => output.notify(notice);
  const settings = readCallSettings(invocation);
  const models = await openModels({ io, home: bonsaiHome(io.env), settings, onNotice });
  const known = new Map<string, CatalogueModel>();
  return ({ log, ...options }) =>
    makeDrafts({
      ...options,
      knows: async (name) => {
        if (known.has(name)) return true;
        const model = await usableModel(models, name);
        // A name can also match a similar model.
        if (typeof model === "string" || referenceOf(model) !== name) return false;
        known.set(name, model);
        return true;
      },
      make: ({ sessionId, request, signal }) => {
        const summariser = summariserFor({
          ...{ models: models.client, model: known.get(request.model)!, cacheKey: sessionId },
          onNotice: (notice) => onNotice(modelNotice(notice)),
        });
        return summariser.summarise({ ...request, messages: [], signal });
      },
      onDraft: ({ sessionId, model }, event) => log(sessionId, `summary ${event}`, model),
      onError: ({ code, message }) => onNotice({ code, message }),
    });
}
