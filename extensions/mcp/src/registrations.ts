/** Owner of the registered tools or commands of all servers. Unchanged ones stay registered. */
export class Registrations {
  readonly #registered = new Map<string, { mark: string; undo: () => void }>();

  /** Registers the wanted ones by name and removes the others. A changed `mark` replaces the earlier registration. */
  update(wanted: ReadonlyMap<string, { mark: unknown; register: () => () => void }>): void {
    for (const [name, { undo }] of this.#registered) {
      if (wanted.has(name)) continue;
      undo();
      this.#registered.delete(name);
    }
    for (const [name, { mark: given, register }] of wanted) {
      const mark = JSON.stringify(given);
      const known = this.#registered.get(name);
      if (known?.mark === mark) continue;
      known?.undo();
      this.#registered.set(name, { mark, undo: register() });
    }
  }
}
