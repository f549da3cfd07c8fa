import { piModules } from "../../packages/pi-adapter/src/index.ts";
import { REPLACEMENTS } from "../../packages/pi-adapter/src/pi-modules.ts";
import { code, page, table } from "./markdown.ts";

/** The values that extensions of pi can import, and a replacement for the others. */
export async function piPage(): Promise<string> {
  const modules = piModules();
  const sections = await Promise.all(
    Object.entries(REPLACEMENTS).map(async ([name, replacements]) => {
      const values = Object.keys(await modules[`@earendil-works/${name}`]!()).sort();
      const grouped = Map.groupBy(replacements, ([, instead]) => instead);
      const rows = [...grouped].map(([instead, group]) => [
        group.flatMap(([names]) => names.split(" ").map(code)).join(", "),
        instead,
      ]);
      return [`## ${name}`, values.map(code).join(", "), table(["missing", "use instead"], rows)].join(
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
