import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** In the packed command, and in its sources. */
const places = ["../bin/as-pi", "../../cli/bin/as-pi"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/**
 * Lets programs that this one starts find a `pi` that is Bonsai: packages of pi start it as a sub-agent. It is the last in the
 * path, so that a `pi` that the user installed comes first.
 */
export function offerPi(env: NodeJS.ProcessEnv = process.env): void {
  const folder = places.find((place) => existsSync(join(place, "pi")));
  const path = env.PATH ?? "";
  if (folder === undefined || path.split(delimiter).includes(folder)) return;
  env.PATH = path === "" ? folder : `${path}${delimiter}${folder}`;
  env.BONSAI_NODE = process.execPath;
}
