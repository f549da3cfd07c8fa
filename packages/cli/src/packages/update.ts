import type { FindProblem } from "@bonsai-agent/extension/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { knownError } from "../call/failure.ts";
import { installedPackages } from "../call/installed-packages.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { bonsaiVersion } from "../version.ts";
import { type Line, marked, paragraph, span, table } from "../views/line.ts";
import { counted } from "../views/numbers.ts";
import { oneLine, wrap } from "../views/terminal-text.ts";
import { removePackage } from "./install-package.ts";
import { type PackageReport, packageReport, warnOfImports } from "./package-report.ts";
import { type PackageUpdate, updatePackages } from "./update-packages.ts";

/** Takes an installed package out. */
export async function remove({ args, io, output }: Invocation): Promise<undefined> {
  const home = bonsaiHome(io.env);
  const report = packageReport(removePackage({ home, cwd: io.cwd, package: args[0]! }));
  output.result(report, () => removedView(report, output.width));
}

function removedView({ name, version, source, folder }: PackageReport, width: number): Line[] {
  const shownVersion = version === null ? "" : ` ${version}`;
  return [
    [span("Removed", ["bold", "green"]), ` ${name}${shownVersion}`],
    ...(folder === source ? paragraph(`${source} itself was not deleted.`, width, "gray") : []),
  ];
}

/** The JSON of `bonsai extension update`. */
export interface UpdateReport {
  /** How the command itself is updated, which no command of it does. */
  command: { version: string; update: string };
  packages: PackageUpdateReport[];
  /** Packages of which nobody knows what they are, for their record is damaged. */
  problems: readonly FindProblem[];
}

export interface PackageUpdateReport extends PackageReport {
  /** Null where its package.json named none. */
  versionBefore: string | null;
  /** `pinned`: one version was asked for; `local`: used where it lies, or from a tarball. */
  status: PackageUpdate["status"];
  /** Why the update failed. The package is as before. */
  error: { code: string; message: string; hint: string } | null;
}

const updateCommand = "npm install -g bonsai-agent@latest";

/** Brings installed packages to the newest version of what was asked for. */
export function update({ args, io, output }: Invocation): Promise<ExitCode> {
  const place = { home: bonsaiHome(io.env), cwd: io.cwd, env: io.env, now: io.now };
  const [name] = args;
  const packages = name === undefined ? {} : { packages: [name] };
  return io.interruptible(async (signal) => {
    try {
      const updates = await withProgress(io, "Updating", () =>
        updatePackages({ ...place, ...packages, signal }),
      );
      const command = { version: bonsaiVersion(), update: updateCommand };
      const problems = name === undefined ? installedPackages(place.home).problems : [];
      const report: UpdateReport = { command, packages: updates.map(packageUpdate), problems };
      output.result(report, () => updateView(report, output.width));
      for (const { after, entries = [] } of updates) await warnOfImports(output, after, entries);
      const isDone = problems.length === 0 && updates.every(({ status }) => status !== "failed");
      return isDone ? ExitCode.done : ExitCode.failed;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.notify({
        code: "cancelled",
        message: "Cancelled. Finished updates remain. Run `bonsai extension list` to see the versions.",
      });
      return ExitCode.cancelled;
    }
  });
}

function packageUpdate({ before, after, status, error }: PackageUpdate): PackageUpdateReport {
  return {
    ...packageReport(after),
    versionBefore: before.version ?? null,
    status,
    error: error === undefined ? null : failureOf(error),
  };
}

function failureOf(error: unknown): PackageUpdateReport["error"] {
  const { code, message, hint } = knownError(error);
  return { code, message, hint };
}

const unchanged: Readonly<Record<PackageUpdate["status"], string>> = {
  updated: "",
  current: "is the newest version",
  pinned: "pinned: you added this version",
  local: "local: not updated",
  shipped: "updated together with bonsai",
  failed: "update failed: unchanged",
};

/** One line a package, what failed with its reason below, and how the command is updated. */
function updateView({ command, packages, problems }: UpdateReport, width: number): Line[] {
  const rows = packages.map(({ name, version, versionBefore, status }) => [
    [span(oneLine(name), "bold")],
    status === "updated"
      ? [`${versionBefore ?? "?"} → `, span(version ?? "?", "green")]
      : [version ?? "", span(` ${unchanged[status]}`, status === "failed" ? "red" : "gray")],
  ]);
  const updated = packages.filter(({ status }) => status === "updated").length;
  const wrong = [...packages.flatMap(({ error }) => error ?? []), ...problems];
  return [
    ...table(rows, { columns: [{}, { flexible: true }], width }),
    ...wrong.flatMap(({ message, hint }) =>
      marked(span("✗ ", "red"), wrap(oneLine(`${message} ${hint}`, 1_000), width - 2)),
    ),
    ...paragraph(
      packages.length + problems.length === 0
        ? "No packages to update."
        : `Updated ${counted(updated, "package")}.${updated === 0 ? "" : " In an open session, run /reload."}`,
      width,
    ),
    [span(`Bonsai itself is version ${command.version}. To update it, run:`, "gray")],
    [`  ${command.update}`],
  ];
}
