import type { Invocation } from "@bonsai-agent/app/invocation";
import { printedSecrets } from "@bonsai-agent/app/printed-secrets";
import { openNamedSession } from "@bonsai-agent/app/session-file";
import { treeRows } from "@bonsai-agent/app/session-tree";
import { treeView } from "@bonsai-agent/app/tree-view";

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
