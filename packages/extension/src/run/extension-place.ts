import type { ExtensionContext } from "../api/extension-context.ts";
import { makeCommandContext } from "./context/make-command-context.ts";
import { makeContext } from "./context/make-context.ts";
import type { OpenedModels } from "./context/opened-models.ts";
import type { AdaptedExtension, ExtensionAdapter, ExtensionHost } from "./extension-host.ts";
import { makeApi } from "./make-api.ts";
import type { ExtensionPlace, ExtensionRoom } from "./room.ts";
import type { ExtensionScope } from "./scope.ts";
import { scopedHost } from "./scoped-host.ts";
import { scopedUi } from "./scoped-ui.ts";

export interface PlaceOptions {
  room: ExtensionRoom;
  host: ExtensionHost;
  models: OpenedModels;
  adapter: ExtensionAdapter | undefined;
  reload: () => Promise<unknown>;
}

/** What an extension is called with, and how it is known to whoever lays names over that. */
export function placeOf(scope: ExtensionScope, { room, host, models, adapter, reload }: PlaceOptions) {
  const own = scopedHost(host, (ui) =>
    scopedUi(ui, { scope, shownBy: room.shownBy, onNotice: (notice) => host.onNotice(notice) }),
  );
  const extension: AdaptedExtension = {
    path: scope.path,
    name: scope.source,
    keep: (undo) => scope.keep(undo),
    onNotice: (notice) => host.onNotice(notice),
  };
  const adapt = <Context extends ExtensionContext>(context: Context): Context =>
    adapter?.context?.(context, extension) ?? context;
  const checkLoaded = (call: string) => scope.checkLoaded(call);
  const extras = { extensionPath: scope.source, models, adapt, checkLoaded };
  const place: ExtensionPlace = {
    room,
    scope,
    host: own,
    context: (signal) => adapt(makeContext(own, { ...extras, signal })),
    commandContext: () => adapt(makeCommandContext(own, { ...extras, reload })),
  };
  const api = makeApi(place);
  return adapter?.api?.(api, extension) ?? api;
}
