import { contextSize } from "../context-size.ts";
import type { Invocation } from "../invocation.ts";
import type { ContextItem } from "../reports/context-item.ts";
import { leafOf, openNamedSession } from "../session-file.ts";
import { contextView } from "../views/context-view.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const leafId = leafOf(session, invocation);
  const size = contextSize(session, invocation, leafId);
  const tokens = size.messageTokens();
  const items = session.projection(leafId).items.map(
    ({ entryId, message }, at): ContextItem => ({
      entryId,
      role: message.role,
      tokens: tokens[at]!,
      message,
    }),
  );
  const { output } = invocation;
  await output.list(
    () => items,
    () => contextView({ items, size, leafId, width: output.width }),
  );
}
