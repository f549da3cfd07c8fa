import type { Session } from "@bonsai-agent/session";
import { hideableMessages, toggleHidden } from "@bonsai-agent/session/host";
import { contextSize } from "../../views/context-report.ts";
import { counted, tokenDigits } from "../../views/numbers.ts";
import { callIn, kindOf, previewOf } from "../../views/preview.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { PickList } from "../panels/pick-list.ts";
import { keys } from "../terminal/keys.ts";

/** Ids of the messages that the user hid from the model. */
export function hiddenIds(session: Session): ReadonlySet<string> {
  return new Set(hideableMessages(session).flatMap(({ entry, isHidden }) => (isHidden ? [entry.id] : [])));
}

/**
 * Hides a message from the model, or shows it again.
 * @returns the change in words
 * @throws BonsaiError `entry_not_hideable`, and what appending throws
 */
export function hideOrShow({ host: { agent }, chat, status }: InteractiveContext, entryId: string): string {
  if (agent.isBusy)
    return `Hiding a message has to wait for the agent. Press ${keys.label("interrupt")} to stop the agent.`;
  const { isHidden, entryIds } = toggleHidden(agent.session, entryId);
  chat.rebuild(agent.session);
  status.contextChanged();
  const messages =
    entryIds.length === 1 ? "the message" : `the call and ${counted(entryIds.length - 1, "result")}`;
  return isHidden
    ? `The model no longer sees ${messages}. Press Ctrl-X again to undo this.`
    : `The model sees ${messages} again.`;
}

interface Row {
  entryId: string;
  kind: string;
  text: string;
  tokens: number;
  isHidden: boolean;
}

/** Lists the messages of the context, the largest first, to hide them from the model or show them again. */
export async function showMessages(context: InteractiveContext): Promise<void> {
  await context.screen.show<void>((done) => {
    const toggle = ({ entryId }: Row) => {
      const words = hideOrShow(context, entryId);
      list.setItems(rowsOf(context));
      return words;
    };
    const list: PickList<Row> = new PickList<Row>({
      place: context.screen,
      title: "Messages in the context, the largest first",
      items: rowsOf(context),
      key: ({ entryId }) => entryId,
      row: ({ kind, text, tokens, isHidden }) => ({
        label: `${kind.padEnd(10)} ${text}`,
        detail: tokenDigits(tokens, true),
        isDim: isHidden,
        ...(isHidden && { mark: "hidden" }),
      }),
      empty: "The context has no messages.",
      picks: "hide or show",
      onPick: toggle,
      onCancel: () => done(undefined),
      actions: [{ key: "ctrl+x", does: "", run: (row) => row && toggle(row) }],
    });
    return list;
  });
}

function rowsOf({ host: { agent, app } }: InteractiveContext): Row[] {
  const { session } = agent;
  const { estimator } = contextSize(session, app.settings.compaction);
  return hideableMessages(session)
    .map(({ entry, message, isHidden }) => ({
      entryId: entry.id,
      kind: kindOf(entry),
      text: previewOf(entry, callIn(session, entry)),
      tokens: estimator.message(message),
      isHidden,
    }))
    .sort((one, other) => other.tokens - one.tokens);
}
