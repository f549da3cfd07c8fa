import {
  allPackageResources,
  type FindProblem,
  type FoundExtension,
  packageExtensions,
} from "@bonsai-agent/extension/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { extensionChoice } from "../call/extension-choice.ts";
import { type InstalledPackage, installedPackages } from "../call/installed-packages.ts";
import type { Invocation } from "../call/invocation.ts";
import { shownPath } from "../call/paths.ts";
import { notifyUntrusted } from "../call/project.ts";
import { agentCallSettings } from "../call/settings.ts";
import { chosenExtensions } from "../call/start-extensions.ts";
import { type Line, marked, paragraph, span, table } from "../views/line.ts";
import { printable, wrap } from "../views/terminal-text.ts";
import { packageReport } from "./add.ts";

/** Lists the extensions that would run here. Runs none of them. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { io, output } = invocation;
  const home = bonsaiHome(io.env);
  notifyUntrusted(invocation, ["extensions"]);
  const found = chosenExtensions(extensionChoice(invocation, agentCallSettings(invocation)));
  const packages = installedPackages(home).packages.map(listedPackage);
  const known = new Set(
    packages.flatMap(({ problems }) => problems).map(({ path, message }) => path + message),
  );
  const others = found.extensions.filter(({ origin }) => origin !== "package");
  const report: ListReport = {
    packages,
    extensions: others.map(({ path, origin }) => ({ path, origin })),
    problems: found.problems.filter(({ path, message }) => !known.has(path + message)),
  };
  output.result(report, () => listView(report, { width: output.width, cwd: io.cwd, home }));
}

function listedPackage(installed: InstalledPackage) {
  const { entries, problems } = packageExtensions(installed.folder);
  const resources = allPackageResources(installed.folder);
  const isEmpty = entries.length + problems.length + resources.problems.length + resources.paths.length === 0;
  return {
    ...packageReport(installed),
    extensions: entries,
    resources: resources.paths,
    problems: isEmpty ? [withoutExtension(installed)] : [...problems, ...resources.problems],
  };
}

function withoutExtension({ name, folder }: InstalledPackage): FindProblem {
  return {
    path: folder,
    message: "It contains no extension, skill, prompt template or theme.",
    hint: `Correct its package.json, or run \`bonsai extension remove ${name}\`.`,
  };
}

type ListedPackage = ReturnType<typeof listedPackage>;

/** The JSON of `bonsai extension list`. */
export interface ListReport {
  /** In load order. */
  packages: readonly ListedPackage[];
  /** Extensions outside of packages, in load order. */
  extensions: readonly Pick<FoundExtension, "path" | "origin">[];
  /** Unloadable paths outside of packages. */
  problems: readonly FindProblem[];
}

interface ListViewOptions {
  width: number;
  cwd: string;
  home: string;
}

function* listView(
  { packages, extensions, problems }: ListReport,
  options: ListViewOptions,
): Generator<Line> {
  const { width, cwd, home } = options;
  if (packages.length + extensions.length + problems.length === 0) yield* nothing(home, width);
  if (packages.length > 0) yield [span("Packages", "bold")];
  for (const each of packages) yield* packageLines(each, options);
  if (packages.length > 0 && extensions.length + problems.length > 0) yield [];
  if (extensions.length > 0) yield [span("Extensions", "bold")];
  const rows = extensions.map(({ path, origin }): Line[] => [[span(origin, "gray")], [shownPath(path, cwd)]]);
  yield* table(rows, { columns: [{}, {}], width, indent: 2 });
  if (extensions.length > 0 && problems.length > 0) yield [];
  for (const problem of problems) yield* problemLines(problem, options);
}

function* packageLines(each: ListedPackage, options: ListViewOptions): Generator<Line> {
  const { name, version, source, extensions, resources, problems } = each;
  const origin = source.startsWith("shipped:") ? "comes with bonsai" : shownPath(source, options.cwd);
  const from = source === name ? "" : `  ${origin}`;
  yield [
    span(`  ${shownPath(name, options.cwd)}`, "cyan"),
    version === null ? "" : ` ${version}`,
    span(from, "gray"),
  ];
  for (const path of [...extensions, ...resources])
    if (path !== name) yield [`    ${shownPath(path, options.cwd)}`];
  for (const problem of problems) yield* problemLines(problem, options);
}

function* problemLines(
  { path, message, hint }: FindProblem,
  { width, cwd }: ListViewOptions,
): Generator<Line> {
  const what = message.includes(path) ? message : `${shownPath(path, cwd)}: ${message}`;
  const lines = wrap(printable(what), width - 4);
  yield* marked(span("  ! ", ["bold", "yellow"]), lines);
  yield* paragraph(`→ ${printable(hint)}`, width, "gray", 4);
}

function* nothing(home: string, width: number): Generator<Line> {
  yield ["No extensions."];
  const hint = `Add one with \`bonsai extension add NAME\`, or put a module into ${home}/extensions.`;
  yield* paragraph(hint, width, "gray");
}
