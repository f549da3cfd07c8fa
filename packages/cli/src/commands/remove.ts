import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, span } from "@bonsai-agent/app/line";
import { wrap } from "@bonsai-agent/app/terminal-text";
import { removePackage } from "@bonsai-agent/extension/install";
import { bonsaiHome } from "@bonsai-agent/session";
import { type PackageReport, packageReport } from "./install.ts";

export async function run({ args, io, output }: Invocation): Promise<undefined> {
  const home = bonsaiHome({ ...io.env });
  const report = packageReport(removePackage({ home, cwd: io.cwd, package: args[0]! }));
  output.result(report, () => lines(report, output.width));
}

function lines({ name, version, source, folder }: PackageReport, width: number): Line[] {
  const shownVersion = version === null ? "" : ` ${version}`;
  const stays = folder === source ? [`${source} itself stays as it is.`] : [];
  return [
    [span("Removed", ["bold", "green"]), ` ${name}${shownVersion}`],
    ...stays.flatMap((text) => wrap(text, width)).map((text): Line => [span(text, "gray")]),
  ];
}
