import type { Summariser, SummaryAnswer, SummaryRequest } from "@bonsai-agent/compaction";
import { type AssistantMessage, messageText } from "@bonsai-agent/messages";
import { type CatalogueModel, finalEvent, type ModelClient, type ModelNotice } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { CachedPrefix } from "./cached-prefix.ts";

export interface SummariserForOptions {
  models: ModelClient;
  model: CatalogueModel;
  /** The same for all requests of one session. */
  cacheKey?: string;
  onNotice?: (notice: ModelNotice) => void;
}

/** A model as summariser, for use without an agent: everything is asked for as text. */
export function summariserFor(options: SummariserForOptions): Summariser {
  return modelSummariserOf({ ...options, selection: options });
}

export interface ModelSummariserOptions {
  models: ModelClient;
  /** Who is asked, as of each request. */
  selection: { readonly model: CatalogueModel };
  session: Session;
  /** Where the cached prefix of the latest turn request is found. */
  prefix: CachedPrefix;
  onNotice?: (notice: ModelNotice) => void;
  now?: () => number;
}

/** The session's own model as summariser: it goes on from the cached prefix where that costs less. */
export function modelSummariser(options: ModelSummariserOptions): Summariser {
  return modelSummariserOf({ ...options, cacheKey: options.session.id });
}

interface Asking {
  models: ModelClient;
  selection: { readonly model: CatalogueModel };
  cacheKey?: string | undefined;
  onNotice?: ((notice: ModelNotice) => void) | undefined;
}

function modelSummariserOf(asking: Asking): Summariser {
  const { selection, models } = asking;
  const model = () => models.sized(selection.model);
  return {
    get name() {
      return `${model().provider}/${model().id}`;
    },
    get contextWindow() {
      return model().contextWindow ?? 0;
    },
    get maxOutputTokens() {
      return Math.min(model().maxOutputTokens ?? 32_000, 32_000);
    },
    summarise: (request) => askSerialised(asking, model(), request),
  };
}

async function askSerialised(
  { models, cacheKey, onNotice }: Asking,
  model: CatalogueModel,
  request: SummaryRequest,
): Promise<SummaryAnswer> {
  const { prompt, maxSummaryTokens, signal } = request;
  const final = await finalEvent(
    models.stream({
      model,
      purpose: "summary",
      systemPrompt: prompt.system,
      tools: [],
      messages: [{ role: "user", content: prompt.user, timestamp: 0 }],
      maxOutputTokens: maxSummaryTokens,
      cacheKey,
      signal,
      onNotice,
    }),
  );
  const overflow = final.type === "error" && final.failure?.kind === "inputTooLong";
  return { ...answerOf(final.message), ...(overflow ? { overflow } : {}) };
}

function answerOf(message: AssistantMessage): SummaryAnswer {
  const { usage, errorMessage } = message;
  return {
    text: messageText(message),
    stopReason: message.stopReason as SummaryAnswer["stopReason"],
    usage,
    ...(errorMessage === undefined ? {} : { errorMessage }),
  };
}
