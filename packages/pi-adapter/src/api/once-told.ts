import type { AdaptedExtension } from "@bonsai-agent/extension";

/** Tells of a thing, by its name, once. `what` goes on from the extension's name. */
export type Tell = (thing: string, what: string) => void;

/** What an extension of pi does in vain is said once for each thing, not at each call. */
export function onceTold({ name, onNotice }: AdaptedExtension): Tell {
  const told = new Set<string>();
  return (thing, what) => {
    if (told.has(thing)) return;
    told.add(thing);
    onNotice({ level: "info", code: "pi_not_supported", message: `${name} ${what}.` });
  };
}
