import type { ListedPackage, ListReport } from "../reports/list-report.ts";
import { shownPath } from "../shown-path.ts";
import { type Line, span } from "./line.ts";
import { printable } from "./printable.ts";
import { table } from "./table.ts";
import { wrap } from "./text-width.ts";

export interface ListViewOptions {
  width: number;
  cwd: string;
  /** Bonsai's home folder. */
  home: string;
}

type Problem = ListReport["problems"][number];

/** What runs in a session begun here, where it comes from, and what cannot run. */
export function* listView(
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
  const { name, version, source, extensions, problems } = each;
  const from = source === name ? "" : `  ${shownPath(source, options.cwd)}`;
  yield [
    span(`  ${shownPath(name, options.cwd)}`, "cyan"),
    version === null ? "" : ` ${version}`,
    span(from, "gray"),
  ];
  for (const path of extensions) if (path !== name) yield [`    ${shownPath(path, options.cwd)}`];
  for (const problem of problems) yield* problemLines(problem, options);
}

function* problemLines({ path, message, hint }: Problem, { width, cwd }: ListViewOptions): Generator<Line> {
  const what = message.includes(path) ? message : `${shownPath(path, cwd)}: ${message}`;
  const lines = wrap(printable(what), width - 4);
  yield* lines.map((line, at): Line => [span(at === 0 ? "  ! " : "    ", ["bold", "yellow"]), line]);
  yield* wrap(`→ ${printable(hint)}`, width - 4).map((line): Line => [span(`    ${line}`, "gray")]);
}

function* nothing(home: string, width: number): Generator<Line> {
  yield ["No extensions."];
  const hint = `\`bonsai install npm:NAME\` brings one; a module in ${home}/extensions is one.`;
  yield* wrap(hint, width).map((line): Line => [span(line, "gray")]);
}
