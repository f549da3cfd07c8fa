import { join } from "node:path";
import { hostModules } from "../src/load/host-modules.ts";
import { importExtension } from "../src/load/import-extension.ts";
import type { VirtualModules } from "../src/load/virtual-modules.ts";

/** Loads an extension and returns the result of its factory. */
export async function started(
  folder: string,
  entry = "index.ts",
  modules: VirtualModules = hostModules(),
): Promise<unknown> {
  const factory = await importExtension({ path: join(folder, entry), modules });
  return (factory as unknown as () => unknown)();
}
