import json

import __MAIN__
from lathe import component

component.start(__MAIN__, json.loads(__ABOUT__))

from lathe.component import ExtensionManifest, Hooks, Tools
