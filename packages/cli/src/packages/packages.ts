import { realpathSync } from "node:fs";
import { basename, relative } from "node:path";
import type { FailingImport, FindProblem } from "@bonsai-agent/extension/host";
import {
  allPackageResources,
  firstPartyExtensions,
  type Installation,
  type InstalledPackage,
  installedPackages,
  installPackage,
  type PackageUpdate,
  removePackage,
  updatePackages,
} from "@bonsai-agent/extension/install";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import { knownError } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { isInteractiveTerminal } from "../call/io.ts";
import { type Output, withProgress } from "../call/output.ts";
import { shownPath } from "../call/paths.ts";
import { bonsaiVersion } from "../version.ts";
import { type Line, marked, paragraph, span, table } from "../views/line.ts";
import { didYouMean } from "../views/nearest-word.ts";
import { counted } from "../views/numbers.ts";
import { oneLine, wrap } from "../views/terminal-text.ts";
import { chosenFirstParty, firstPartyReports, firstPartyView } from "./first-party.ts";

/** A package, in what `bonsai extension add`, `list` and `remove` print with `--json`. */
export interface PackageReport {
  /** The npm name; of what has none, its path. */
  name: string;
  /** Null where its package.json names none. */
  version: string | null;
  /** `npm:NAME` or `npm:NAME@VERSION`, or an absolute path. */
  source: string;
  /** Absolute: where its files are; of a lone module, the module itself. */
  folder: string;
}

export function packageReport({ name, version, source, folder }: InstalledPackage): PackageReport {
  return { name, version: version ?? null, source, folder };
}

/** The JSON of `bonsai extension add`. */
export interface InstallReport extends PackageReport {
  /** Absolute paths of the modules that are loaded from now on. */
  extensions: readonly string[];
  /** Absolute paths of its skills, prompt templates and themes, or of the folders with them. */
  resources: readonly string[];
  /** What went by the same name before. */
  replaced: Pick<PackageReport, "version" | "source"> | null;
}

/** Installs a package of npm, or what lies at a path; without either, lists what comes with Bonsai. */
export async function install(call: Invocation): Promise<ExitCode> {
  const { args, io, output } = call;
  const [given] = args;
  if (given !== undefined) return installFrom(given, call);
  const reports = firstPartyReports(bonsaiHome(io.env));
  const isChosen = !output.wantsJson && isInteractiveTerminal(io);
  const chosen = isChosen
    ? await io.interruptible((signal) => chosenFirstParty(call, reports, signal))
    : undefined;
  if (chosen !== undefined) return installFrom(chosen, call);
  if (!isChosen) output.result(reports, () => firstPartyView(reports, output.width));
  return ExitCode.done;
}

function installFrom(source: string, { io, output }: Invocation): Promise<ExitCode> {
  const place = { home: bonsaiHome(io.env), cwd: io.cwd, env: io.env, now: io.now };
  return io.interruptible(async (signal) => {
    try {
      const installed = await withProgress(io, `Adding ${source}`, () =>
        installPackage({ ...place, source, signal }),
      );
      const report = installReport(installed);
      output.result(report, () => installView(report, { width: output.width, cwd: io.cwd }));
      await warnOfImports(output, installed.package, installed.entries);
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw withMeantName(source, error);
      output.notify({ code: "cancelled", message: `Cancelled. ${source} was not added.` });
      return ExitCode.cancelled;
    }
  });
}

/** Names of packages that come with Bonsai are written without a path, so a typo looks like a missing path. */
function withMeantName(source: string, error: unknown): unknown {
  const names = firstPartyExtensions.map(({ name }) => name);
  const meant = didYouMean(source, names, "`bonsai extension add ").replace(/\?$/, "`?");
  if (!BonsaiError.is(error) || error.code !== "package_not_found" || meant === "") return error;
  return new BonsaiError({
    code: error.code,
    message: error.message,
    hint: `${meant.trimStart()} ${error.hint}`,
    cause: error,
  });
}

/** Warns about each missing import of a package, because its extension will not load. */
async function warnOfImports(
  output: Output,
  { name, folder }: InstalledPackage,
  entries: readonly string[],
): Promise<void> {
  const { failingImports } = await import("@bonsai-agent/extension/host");
  const { virtualModules } = await import("../call/start-extensions.ts");
  const found = await Promise.all(entries.map((entry) => failingImports(entry, virtualModules())));
  const warnings = found.flat().map((failing) => {
    const path = relative(realpathSync(folder), failing.path) || basename(failing.path);
    return `${name}: ${path}:${failing.line} imports ${problemOf(failing)} The extension will not load.${failing.instead === undefined ? "" : ` ${failing.instead}`}`;
  });
  for (const message of new Set(warnings))
    output.notify({
      /** An added or updated extension imports a name or a module that does not exist. */
      code: "extension_import_missing",
      message,
    });
}

function problemOf({ specifier, name }: FailingImport): string {
  if (name !== undefined) return `${name} from ${specifier}, but Bonsai's ${specifier} does not export it.`;
  return `${specifier}, but ${specifier.startsWith(".") ? "that file does not exist" : "it is not installed"}.`;
}

function installReport({ package: installed, entries, replaced }: Installation): InstallReport {
  return {
    ...packageReport(installed),
    extensions: entries,
    resources: allPackageResources(installed.folder).paths,
    replaced: replaced === undefined ? null : { version: replaced.version ?? null, source: replaced.source },
  };
}

/** What was installed, what it brings, and what that means. */
function installView(report: InstallReport, { width, cwd }: { width: number; cwd: string }): Line[] {
  const { name, version, source, folder, extensions, resources } = report;
  const use =
    extensions.length === 0
      ? "Its skills, prompt templates and themes are available in every session from now on."
      : "Its extensions run in every session from now on, with your rights.";
  return [
    [
      span("Added", ["bold", "green"]),
      ` ${shownPath(name, cwd)}${version === null ? "" : ` ${version}`}`,
      span(before(report), "gray"),
    ],
    ...extensions.map((path): Line => [span("  extension  ", "gray"), shownPath(path, cwd)]),
    ...resources.map((path): Line => [span("  resource   ", "gray"), shownPath(path, cwd)]),
    ...paragraph(`${originOf({ source, folder })} ${use}`, width, "gray"),
  ];
}

function originOf({ source, folder }: Pick<InstallReport, "source" | "folder">): string {
  if (source.startsWith("shipped:")) return "It comes with bonsai. Updating bonsai also updates it.";
  if (folder === source) return "Bonsai loads it from there, so your changes take effect.";
  return "Its install scripts were not run.";
}

function before({ version, source, replaced }: InstallReport): string {
  if (replaced === null) return "";
  if (replaced.version !== version) return `  before: ${replaced.version ?? replaced.source}`;
  return replaced.source === source ? "  (same version as before)" : `  before: ${replaced.source}`;
}

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
  /** Of what failed; it is as before. */
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
