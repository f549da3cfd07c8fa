import {
  type FindProblem,
  findExtensions,
  type InstalledPackage,
  installedPackages,
  packageExtensions,
} from "@bonsai-agent/extension";
import { bonsaiHome } from "@bonsai-agent/session";
import { extensionChoice } from "../extensions/extension-choice.ts";
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
  const report: ListReport = {
    packages,
    extensions: found.extensions
      .filter(({ origin }) => origin !== "package")
      .map(({ path, origin }) => ({ path, origin })),
    problems: found.problems.filter(({ path, message }) => !told.has(path + message)),
  };
  output.result(report, () => listView(report, { width: output.width, cwd: io.cwd, home }));
}

function listedPackage(installed: InstalledPackage): ListedPackage {
  const { entries, problems } = packageExtensions(installed.folder);
  const isEmpty = entries.length + problems.length === 0;
  return {
    ...packageReport(installed),
    extensions: entries,
    problems: isEmpty ? [withoutExtension(installed)] : problems,
  };
}

function withoutExtension({ name, folder }: InstalledPackage): FindProblem {
  return {
    path: folder,
    message: "It names no extension any more.",
    hint: `Mend its package.json, or take it out: \`bonsai remove ${name}\`.`,
  };
}
