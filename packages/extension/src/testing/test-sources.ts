import { hostModules } from "../load/host-modules.ts";
import type { LoadExtensionsOptions } from "../run/extensions.ts";
import type { OpenTestSessionOptions } from "./open-test-session-options.ts";

/** Functions by their names, modules by their paths. */
export function testSources({
  extensions = [],
  adapter,
  modules = hostModules(),
  reservedCommands = [],
}: OpenTestSessionOptions): Omit<LoadExtensionsOptions, "host"> {
  const all = [extensions].flat();
  const paths = all.filter((each) => typeof each === "string");
  const functions = all.filter((each) => typeof each === "function");
  return {
    inline: functions.map((factory, index) => ({
      name: `${factory.name || "extension"}-${index + 1}`,
      factory,
    })),
    find: () => ({ extensions: paths.map((path) => ({ path, origin: "flag" as const })), problems: [] }),
    modules,
    reservedCommands,
    ...(adapter === undefined ? {} : { adapter }),
  };
}
