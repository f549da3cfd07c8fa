import {
  type ExtensionHost,
  type Extensions,
  type FoundExtensions,
  findExtensions,
  loadExtensions,
} from "@bonsai-agent/extension";
import { BonsaiError } from "@bonsai-agent/messages";
import { piAdapter } from "@bonsai-agent/pi-adapter";
import { type ExtensionChoice, isNamedByFlag } from "./extension-choice.ts";
import { virtualModules } from "./virtual-modules.ts";

export interface StartExtensionsOptions {
  host: ExtensionHost;
  /** Asked at each reload. */
  choice: () => ExtensionChoice;
  /** What is loaded first. */
  first: ExtensionChoice;
}

/**
 * Finds and loads extensions. One that cannot be loaded is a notice; but who names it by `-e` wants it: then nothing
 * goes on without it.
 * @throws BonsaiError for one that `-e` names; then none is loaded
 */
export async function startExtensions({ host, choice, first }: StartExtensionsOptions): Promise<Extensions> {
  const found = findExtensions(first);
  const missing = found.problems.find(({ path }) => isNamedByFlag(first, path));
  if (missing !== undefined) throw notFound(missing);
  const finds = [found][Symbol.iterator]();
  const find = (): FoundExtensions => finds.next().value ?? findExtensions(choice());
  const extensions = await loadExtensions({ host, find, modules: virtualModules(), adapter: piAdapter() });
  const named = new Set(found.extensions.filter(({ origin }) => origin === "flag").map(({ path }) => path));
  const broken = extensions.failed.find(({ path }) => named.has(path) || isNamedByFlag(first, path));
  if (broken === undefined) return extensions;
  extensions.unload();
  throw broken.error;
}

function notFound({ path, message, hint }: FoundExtensions["problems"][number]): BonsaiError {
  return new BonsaiError({
    code: "extension_not_found",
    message: message.includes(path) ? message : `${path}: ${message}`,
    hint,
  });
}
