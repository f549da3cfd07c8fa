import { computed, signal } from "@preact/signals";

/** The place that the address names. Every entry and view has a permanent one. */
export type Address =
  /** The transcript of the branch of an entry, at that entry. */
  | { view: "entry"; id: string }
  /** The transcript of the session's position. */
  | { view: "transcript" }
  | { view: "tree" }
  /** The context over time; at the request of an entry, where there is one. */
  | { view: "context"; id?: string }
  | { view: "compaction"; id: string }
  /** The branch of an entry, compared with the session's position; without an entry, the newest other branch. */
  | { view: "compare"; id?: string };

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const address = computed<Address>(() => addressOf(hash.value));

/** In the form of `href`. */
export function linkTo(to: Address): string {
  switch (to.view) {
    case "entry":
    case "compaction":
      return `#/${to.view}/${encodeURIComponent(to.id)}`;
    case "context":
    case "compare":
      return to.id === undefined ? `#/${to.view}` : `#/${to.view}/${encodeURIComponent(to.id)}`;
    default:
      return `#/${to.view}`;
  }
}

export function go(to: Address): void {
  location.hash = linkTo(to);
}

/** Replaces the shown address: "Back" skips it. */
export function goInstead(to: Address): void {
  location.replace(linkTo(to));
}

function addressOf(text: string): Address {
  const [view, id = ""] = text.replace(/^#\/?/, "").split("/").map(decoded);
  if ((view === "entry" || view === "compaction") && id !== "") return { view, id };
  if (view === "tree") return { view };
  if (view === "context" || view === "compare") return id === "" ? { view } : { view, id };
  return { view: "transcript" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
