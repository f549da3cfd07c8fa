import type { LifecycleEvents } from "@bonsai-agent/agent";
import { convertToLlm, type ExtensionContext, type ExtensionMessage } from "@bonsai-agent/extension";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import { withBlocks } from "./models/requests.ts";
import { overlay, type PiExtension, type PiHandler } from "./pi-extension.ts";

/** What a handler of `turn_end` may answer: entries to add, and whether the model is to be asked once more. */
interface TurnEndResult {
  entries?: readonly EntryDraft[];
  continue?: boolean;
}

type EntryDraft =
  | { type: "custom"; customType: string; data?: unknown }
  | ({ type: "custom_message" } & ExtensionMessage)
  | { type: "context_edit" | "compaction" };

/** pi's turns end with how they went, the context by then, and what earlier handlers proposed, which stays with each here. */
export function turnEnding(pi: PiExtension, handler: PiHandler): PiHandler {
  return async (payload, ctx) => {
    const event = payload as PayloadOf<LifecycleEvents["turn_end"]>;
    const shown = overlay(event, {
      entries: [],
      continue: false,
      outcome: outcomes[event.message.stopReason] ?? "completed",
      get context() {
        return boundaryContext(ctx);
      },
    });
    const result = (await handler(shown, ctx)) as TurnEndResult | undefined;
    if (result) addAtTurnEnd(pi, result);
  };
}

const outcomes: Readonly<Record<string, string>> = { aborted: "aborted", error: "error" };

/** Messages that wait are not shown: they are on their way. */
function boundaryContext({ sessionManager }: ExtensionContext): object {
  const { entries, messages } = sessionManager.buildSessionProjection();
  const contextMessages = messages.map(withBlocks);
  const contextEntries = entries.map((each) => ({ ...each, messages: each.messages.map(withBlocks) }));
  return {
    contextEntries,
    contextMessages,
    llmMessages: convertToLlm(contextMessages),
    pendingMessages: [],
    canContinue: contextMessages.length > 0 && contextMessages.at(-1)!.role !== "assistant",
  };
}

/** A request more needs something that the model is asked with: the messages that are added, or what a tool gave back. */
function addAtTurnEnd(
  { api, notifyOnce }: PiExtension,
  { entries = [], continue: goesOn = false }: TurnEndResult,
): void {
  const isMessage = (draft: EntryDraft) => draft.type === "custom_message";
  const last = entries.findLast(isMessage);
  for (const draft of entries) {
    if (draft.type === "custom") api.appendEntry(draft.customType, draft.data);
    else if (draft.type === "custom_message") {
      const { type: _type, ...message } = draft;
      api.sendMessage(message, { triggerTurn: goesOn && draft === last });
    } else
      notifyOnce(
        `turn_end ${draft.type}`,
        `adds an entry of type ${draft.type} at the end of a turn. Bonsai does not support this: use ctx.compact() or the event context`,
      );
  }
  if (goesOn && last === undefined)
    notifyOnce(
      "turn_end continue",
      "requests another turn without a message. Add a message, or use sendUserMessage",
    );
}
