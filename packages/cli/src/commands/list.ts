import {
  type FindProblem,
  findExtensions,
  type InstalledPackage,
  installedPackages,
  packageExtensions,
} from "@bonsai-agent/extension";
import { bonsaiHome } from "@bonsai-agent/session";
import { extensionChoice } from "../extensions/extension-choice.ts";
import { syntaxProblem } from "../extensions/syntax-problem.ts";
import type { Invocation } from "../invocation.ts";
import type { ListedPackage, ListReport } from "../reports/list-report.ts";
import { packageReport } from "../reports/package-report.ts";
import { agentCallSettings } from "../settings.ts";
import { listView } from "../views/list-view.ts";

/** Lists what would run here; nothing of it is run. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { io, output } = invocation;
  const home = bonsaiHome({ ...io.env });
  const found = findExtensions(
    extensionChoice(invocation, { home, settings: agentCallSettings(invocation) }),
  );
  const packages = installedPackages(home).packages.map(listedPackage);
  const told = new Set(
    packages.flatMap(({ problems }) => problems).map(({ path, message }) => path + message),
  );
  const others = found.extensions.filter(({ origin }) => origin !== "package");
  const unreadable = syntaxProblems(others.map(({ path }) => path));
  const report: ListReport = {
    packages,
    extensions: others.filter(isSound(unreadable)).map(({ path, origin }) => ({ path, origin })),
    problems: [...found.problems.filter(({ path, message }) => !told.has(path + message)), ...unreadable],
  };
  output.result(report, () => listView(report, { width: output.width, cwd: io.cwd, home }));
}

function listedPackage(installed: InstalledPackage): ListedPackage {
  const { entries, problems } = packageExtensions(installed.folder);
  const isEmpty = entries.length + problems.length === 0;
  const unreadable = syntaxProblems(entries);
  return {
    ...packageReport(installed),
    extensions: entries.filter((path) => isSound(unreadable)({ path })),
    problems: isEmpty ? [withoutExtension(installed)] : [...problems, ...unreadable],
  };
}

function syntaxProblems(paths: readonly string[]): FindProblem[] {
  return paths.flatMap((path) => syntaxProblem(path) ?? []);
}

function isSound(problems: readonly FindProblem[]): (module: { path: string }) => boolean {
  const wrong = new Set(problems.map(({ path }) => path));
  return ({ path }) => !wrong.has(path);
}

function withoutExtension({ name, folder }: InstalledPackage): FindProblem {
  return {
    path: folder,
    message: "It names no extension any more.",
    hint: `Mend its package.json, or take it out: \`bonsai remove ${name}\`.`,
  };
}
