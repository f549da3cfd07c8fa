import type { Summariser, SummaryAnswer, SummaryRequest } from "@bonsai-agent/compaction";
import { type AssistantMessage, messageText } from "@bonsai-agent/messages";
import { type CatalogueModel, finalEvent, type ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { ModelSelection } from "./model-selection.ts";
import type { ToolRegistry } from "./tool-registry.ts";

export interface ModelSummariserOptions {
  models: ModelClient;
  selection: ModelSelection;
  session: Session;
  systemPrompt: () => string;
  tools: ToolRegistry;
}

/** The session's own model as summariser. */
export function modelSummariser(options: ModelSummariserOptions): Summariser {
  const { selection } = options;
  return {
    get name() {
      return `${selection.model.provider}/${selection.model.id}`;
    },
    get contextWindow() {
      return selection.model.contextWindow ?? 0;
    },
    get maxOutputTokens() {
      return Math.min(selection.model.maxOutputTokens ?? 32_000, 32_000);
    },
    summarise: (request) => summarise(options, selection.model, request),
  };
}

async function summarise(
  { models, session }: ModelSummariserOptions,
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
      cacheKey: session.id,
      signal,
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
