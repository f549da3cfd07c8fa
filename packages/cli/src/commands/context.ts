import { chars4Estimator, type Message } from "@bonsai-agent/messages";
import type { Invocation } from "../invocation.ts";
import { leafOf, openNamedSession } from "../session-file.ts";
import { contextView } from "../views/context-view.ts";

/** One item of `bonsai context --json`. */
export interface ContextItem {
  entryId: string;
  role: string;
  /** Estimated. */
  tokens: number;
  message: Message;
}

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const leafId = leafOf(session, invocation);
  const items: ContextItem[] = session.projection(leafId).items.map(({ entryId, message }) => ({
    entryId,
    role: message.role,
    tokens: chars4Estimator.message(message),
    message,
  }));
  const { output } = invocation;
  output.result(items, () => contextView({ items, leafId, width: output.width }));
}
