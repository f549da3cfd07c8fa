import type { FindProblem } from "@bonsai-agent/extension/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { errorJson } from "../call/event-json.ts";
import { SHIPPED_PREFIX } from "../call/first-party.ts";
import { type InstalledPackage, installedPackages } from "../call/installed-packages.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { bonsaiVersion } from "../version.ts";
import { type Line, marked, paragraph, span, table } from "../views/line.ts";
import { counted } from "../views/numbers.ts";
import { oneLine, wrap } from "../views/terminal-text.ts";
import { type PackageReport, packageReport } from "./add.ts";
import { findInstalled, type InstallPackageOptions, installPackage, removePackage } from "./install.ts";

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
  /** The command's version, and the command line that updates it. */
  command: { version: string; update: string };
  packages: PackageUpdateReport[];
  /** Damaged records. */
  problems: readonly FindProblem[];
}

export type PackageUpdateReport = ReturnType<typeof packageUpdate>;

interface PackageUpdate {
  before: InstalledPackage;
  after: InstalledPackage;
  /**
   * `current`: npm has no newer version. `pinned`: the user added this version. `local`: a path of the user. `shipped`: it
   * is updated with the command. `failed`: it is as before.
   */
  status: "updated" | "current" | "pinned" | "local" | "shipped" | "failed";
  error?: unknown;
}

const updateCommand = "npm install -g bonsai-agent@latest";

/** Updates packages to the newest version of their source. */
export function update({ args, io, output }: Invocation): Promise<ExitCode> {
  const home = bonsaiHome(io.env);
  const [name] = args;
  return io.interruptible(async (signal) => {
    try {
      const options = { home, cwd: io.cwd, env: io.env, now: io.now, signal };
      const updates = await withProgress(io, "Updating", () => updatePackages(options, name));
      const command = { version: bonsaiVersion(), update: updateCommand };
      const problems = name === undefined ? installedPackages(home).problems : [];
      const report: UpdateReport = { command, packages: updates.map(packageUpdate), problems };
      output.result(report, () => updateView(report, output.width));
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

/**
 * A failed package stays as it was, and the others are still updated.
 * @param name a name or path; default: all packages
 * @throws BonsaiError `package_not_installed`; the signal's reason after an abort, which keeps finished updates
 */
export async function updatePackages(
  options: Omit<InstallPackageOptions, "source">,
  name?: string,
): Promise<PackageUpdate[]> {
  const { home, cwd } = options;
  const packages =
    name === undefined ? installedPackages(home).packages : [findInstalled({ home, cwd, package: name })];
  const updates: PackageUpdate[] = [];
  for (const before of packages) {
    const status = keptStatus(before);
    updates.push(status === undefined ? await updateOne(before, options) : { before, after: before, status });
  }
  return updates;
}

/** Why npm is not asked about a package. */
function keptStatus({ source }: InstalledPackage): "pinned" | "local" | "shipped" | undefined {
  if (source.startsWith(SHIPPED_PREFIX)) return "shipped";
  if (!source.startsWith("npm:")) return "local";
  return /.@v?\d+\.\d+\.\d+[\w.+-]*$/.test(source) ? "pinned" : undefined;
}

async function updateOne(
  before: InstalledPackage,
  options: Omit<InstallPackageOptions, "source">,
): Promise<PackageUpdate> {
  try {
    const { package: after } = await installPackage({ ...options, source: before.source });
    return { before, after, status: after.version === before.version ? "current" : "updated" };
  } catch (error) {
    options.signal?.throwIfAborted();
    return { before, after: before, status: "failed", error };
  }
}

function packageUpdate({ before, after, status, error }: PackageUpdate) {
  return {
    ...packageReport(after),
    versionBefore: before.version ?? null,
    status,
    error: error === undefined ? null : errorJson(error),
  };
}

const unchanged: Readonly<Record<PackageUpdate["status"], string>> = {
  updated: "",
  current: "is the newest version",
  pinned: "pinned: you added this version",
  local: "local: not updated",
  shipped: "updated together with bonsai",
  failed: "update failed: unchanged",
};

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
