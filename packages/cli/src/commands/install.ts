import { type Installation, installPackage } from "@bonsai-agent/extension";
import { bonsaiHome } from "@bonsai-agent/session";
import { ExitCode } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import type { InstallReport } from "../reports/install-report.ts";
import { packageReport } from "../reports/package-report.ts";
import { installView } from "../views/install-view.ts";

export function run({ args, io, output }: Invocation): Promise<ExitCode> {
  const source = args[0]!;
  const place = { home: bonsaiHome({ ...io.env }), cwd: io.cwd, env: io.env, now: io.now };
  return io.interruptible(async (signal) => {
    try {
      const installed = await withProgress(io, `Installing ${source}`, () =>
        installPackage({ ...place, source, signal }),
      );
      const report = installReport(installed);
      output.result(report, () => installView(report, { width: output.width, cwd: io.cwd }));
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.notify({ code: "cancelled", message: `Cancelled: ${source} was not installed.` });
      return ExitCode.cancelled;
    }
  });
}

function installReport({ package: installed, entries, replaced }: Installation): InstallReport {
  return {
    ...packageReport(installed),
    extensions: entries,
    replaced: replaced === undefined ? null : { version: replaced.version ?? null, source: replaced.source },
  };
}
