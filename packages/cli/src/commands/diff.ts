import type { Invocation } from "../call/invocation.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { openNamedSession, resolveEntryId } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { branchDiffReport } from "../views/branch-diff-report.ts";
import { branchDiffView } from "../views/branch-diff-view.ts";
import { freeModels } from "../views/session-facts.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  const session = openNamedSession(invocation);
  const [, a, b] = args;
  const report = branchDiffReport({
    session,
    settings: callSettings(invocation),
    a: resolveEntryId(session, a!),
    b: b === undefined ? session.leafId : resolveEntryId(session, b),
    isFree: await freeModels(io),
    secrets: printedSecrets(invocation, session),
  });
  output.result(report, () => branchDiffView({ report, width: output.width, nowMs: io.now() }));
}
