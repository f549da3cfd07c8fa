import { branchDiffReport } from "@bonsai-agent/app/branch-diff-report";
import { branchDiffView } from "@bonsai-agent/app/branch-diff-view";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { printedSecrets } from "@bonsai-agent/app/printed-secrets";
import { freeModels } from "@bonsai-agent/app/session-facts";
import { openNamedSession, resolveEntryId } from "@bonsai-agent/app/session-file";
import { callSettings } from "@bonsai-agent/app/settings";

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
