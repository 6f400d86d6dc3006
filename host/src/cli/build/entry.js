import * as context from "lathe:extension/context@0.1.0";
import * as log from "lathe:extension/log@0.1.0";
import * as messages from "lathe:extension/messages@0.1.0";
import * as session from "lathe:extension/session@0.1.0";
import * as settings from "lathe:extension/settings@0.1.0";
import * as storage from "lathe:extension/storage@0.1.0";

import { component } from "./lathe/component.js";
import * as main from __MAIN__;

export const { extensionManifest, tools, hooks } = component(main.default, __ABOUT__, {
  context, log, messages, session, settings, storage,
});
