import type { Invocation } from "../call/invocation.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { openNamedSession } from "../call/session-file.ts";
import { treeRows } from "../views/session-tree.ts";
import { treeView } from "../views/tree-view.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const tree = session.tree({ isParsed: true });
  const { output, options } = invocation;
  const { leafId } = session;
  const secrets = printedSecrets(invocation, session);
  await output.list(
    () => treeRows(tree, secrets),
    () => treeView({ tree, leafId, width: output.width, all: options.all === true, secrets }),
  );
}
