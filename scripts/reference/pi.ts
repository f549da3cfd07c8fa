import { piModules } from "../../packages/pi-adapter/src/index.ts";
import {
  insteadOfAgentCore,
  insteadOfAi,
  insteadOfCodingAgent,
} from "../../packages/pi-adapter/src/pi-modules.ts";
import { code, page, table } from "./markdown.ts";

const PACKAGES = [
  ["pi-coding-agent", insteadOfCodingAgent],
  ["pi-ai", insteadOfAi],
  ["pi-agent-core", insteadOfAgentCore],
] as const;

/** The values that extensions of pi can import, and a replacement for the others. */
export async function piPage(): Promise<string> {
  const modules = piModules();
  const sections = await Promise.all(
    PACKAGES.map(async ([name, instead]) => {
      const values = Object.keys(await modules[`@earendil-works/${name}`]!()).sort();
      const grouped = [...Map.groupBy(Object.entries(instead), ([, text]) => text)];
      const replaced = grouped.map(([text, names]) => [names.map(([each]) => code(each)).join(", "), text]);
      return [`## ${name}`, values.map(code).join(", "), table(["missing", "use instead"], replaced)].join(
        "\n\n",
      );
    }),
  );
  return page(
    "Imports of pi's extensions",
    "All types exist. All of `pi-tui` and TypeBox exists too. [The guide](../pi.md) says what else differs.",
    sections,
  );
}
