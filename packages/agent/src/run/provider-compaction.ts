import { type ProviderCompaction, SummaryFailure } from "@bonsai-agent/compaction/host";
import { callsIn, type Message, messageText } from "@bonsai-agent/messages";
import type { CatalogueModel, FinalEvent, ModelClient, ModelNotice } from "@bonsai-agent/models";
import { providerCompactionOf } from "@bonsai-agent/models/host";
import { completedAnswer, type TurnBase } from "./turn-request.ts";

interface ProviderCompactionOptions {
  models: ModelClient;
  model: () => CatalogueModel;
  /** Default: no system prompt, and the names of the called tools. */
  base?: (() => TurnBase) | undefined;
  /** Messages of the context as a turn sends them. Default: as they are. */
  seen?: ((messages: readonly Message[]) => readonly Message[]) | undefined;
  onNotice: ((notice: ModelNotice) => void) | undefined;
}

/** Compaction on the side of the model's provider. */
export function providerCompaction({
  models,
  model,
  base,
  seen = (messages) => messages,
  onNotice,
}: ProviderCompactionOptions): ProviderCompaction {
  return {
    get unavailable() {
      return providerCompactionOf(model()).unavailable;
    },
    get isSealed() {
      return providerCompactionOf(model()).isSealed;
    },
    async compact({ kind: summaryKind, messages, instructions, signal }) {
      const { final, usage } = await completedAnswer(models, {
        ...(base?.() ?? baseOf(messages)),
        ...{ model: model(), purpose: "summary", summaryKind, signal, onNotice },
        messages: seen(messages),
        compaction: { instructions },
      });
      if (final.type === "error" || final.summary === undefined) throw failureOf(final);
      const { summary, message } = final;
      return { summary, text: summary.isSealed ? undefined : messageText(message), usage };
    },
  };
}

/** A conversation with calls needs the declarations of their tools. */
function baseOf(messages: readonly Message[]): TurnBase {
  const names = new Set(messages.flatMap((message) => callsIn(message).map(({ name }) => name)));
  const parameters = { type: "object" };
  return { systemPrompt: "", tools: [...names].map((name) => ({ name, description: name, parameters })) };
}

function failureOf(final: FinalEvent): SummaryFailure {
  const { message, failure } = final.type === "error" ? final : { ...final, failure: undefined };
  if (message.stopReason === "aborted") return new SummaryFailure("aborted", "The summary was cancelled.");
  const why = message.errorMessage ?? "The provider sent no summary.";
  if (failure?.code === "compaction_incomplete_turn") return new SummaryFailure("incomplete-turn", why);
  return new SummaryFailure("error", why, { overflow: failure?.kind === "inputTooLong" });
}
