export interface UntilLeftOptions<Value, Entry> {
  /** Where the entry stands, as the last, until it is left. */
  among: (Entry & Leavable)[];
  enter: (leave: (value?: Value) => void) => Entry;
  /** Told when it stands there; also when it has been left at once. */
  onEntered?: (entry: Entry) => void;
  onLeft: (entry: Entry) => void;
  /** Leaves it: the value is then undefined. */
  signal?: AbortSignal | undefined;
}

export interface Leavable {
  /** Leaves it without a value; a second call does nothing. */
  leave: () => void;
}

/** Has something stand among others until it is left. @returns with what it was left */
export function untilLeft<Value, Entry extends object>({
  among,
  enter,
  onEntered,
  onLeft,
  signal,
}: UntilLeftOptions<Value, Entry>): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const leave = (value?: Value) => {
      const at = among.findIndex((each) => each.leave === leaveEmpty);
      if (at < 0) return;
      const [entry] = among.splice(at, 1);
      signal?.removeEventListener("abort", leaveEmpty);
      onLeft(entry!);
      resolve(value);
    };
    const leaveEmpty = () => leave();
    const entry = { ...enter(leave), leave: leaveEmpty };
    among.push(entry);
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leaveEmpty, { once: true });
    onEntered?.(entry);
  });
}
