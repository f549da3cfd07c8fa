import type { AdaptedExtension } from "@bonsai-agent/extension/host";

/**
 * `base` with `extra` laid over it. A view, no copy: what `base` computes when it is asked stays computed then, and its
 * methods keep their `this`. What is assigned to the view stays in the view.
 */
export function overlay<Base extends object, Extra extends object>(
  base: Base,
  extra: Extra,
): Omit<Base, keyof Extra> & Extra {
  const own: object = extra;
  return new Proxy(own, {
    get(_target, key) {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key);
      const value: unknown = Reflect.get(base, key);
      return typeof value === "function" ? value.bind(base) : value;
    },
    has: (_target, key) => Object.hasOwn(own, key) || Reflect.has(base, key),
    ownKeys: () => [...new Set([...Reflect.ownKeys(base), ...Reflect.ownKeys(own)])],
    getOwnPropertyDescriptor(_target, key) {
      const descriptor =
        Reflect.getOwnPropertyDescriptor(own, key) ?? Reflect.getOwnPropertyDescriptor(base, key);
      return descriptor && { ...descriptor, configurable: true };
    },
  }) as Omit<Base, keyof Extra> & Extra;
}

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
