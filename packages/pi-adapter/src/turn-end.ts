import type { LifecycleEvents } from "@bonsai-agent/agent";
import { convertToLlm, type ExtensionContext, type ExtensionMessage } from "@bonsai-agent/extension";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import { withBlocks } from "./models/transcript.ts";
import { overlay, type PiExtension, type PiHandler } from "./pi-extension.ts";

/** Result of pi's handlers of `turn_end`. */
interface TurnEndResult {
  entries?: readonly EntryDraft[];
  /** True: asks the model once more. */
  continue?: boolean;
}

type EntryDraft =
  | { type: "custom"; customType: string; data?: unknown }
  | ({ type: "custom_message" } & ExtensionMessage)
  | { type: "context_edit" | "compaction" };

/** Adds pi's outcome and context to `turn_end`. Handlers do not see each other's results, unlike in pi. */
export function turnEndHandler(pi: PiExtension, handler: PiHandler): PiHandler {
  return async (payload, ctx) => {
    const event = payload as PayloadOf<LifecycleEvents["turn_end"]>;
    const shown = overlay(event, {
      entries: [],
      continue: false,
      outcome: ["aborted", "error"].find((each) => each === event.message.stopReason) ?? "completed",
      get context() {
        return boundaryContext(ctx);
      },
    });
    const result = (await handler(shown, ctx)) as TurnEndResult | undefined;
    if (result) addAtTurnEnd(pi, result);
  };
}

/** Without waiting messages: Bonsai delivers them itself. */
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

/** Another request needs a new message. */
function addAtTurnEnd(
  { api, notifyOnce }: PiExtension,
  { entries = [], continue: continues = false }: TurnEndResult,
): void {
  const isMessage = (draft: EntryDraft) => draft.type === "custom_message";
  const last = entries.findLast(isMessage);
  for (const draft of entries) {
    if (draft.type === "custom") api.appendEntry(draft.customType, draft.data);
    else if (draft.type === "custom_message") {
      const { type: _type, ...message } = draft;
      api.sendMessage(message, { triggerTurn: continues && draft === last });
    } else
      notifyOnce(
        `turn_end ${draft.type}`,
        `adds an entry of type ${draft.type} at the end of a turn. Bonsai does not support this: use ctx.compact() or the event context`,
      );
  }
  if (continues && last === undefined)
    notifyOnce(
      "turn_end continue",
      "requests another turn without a message. Add a message, or use sendUserMessage",
    );
}
