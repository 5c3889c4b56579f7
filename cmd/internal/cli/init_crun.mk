# Targets for a project that crun builds and runs. In the Makefile:
#
#   SCRIPT = src/train.py
#   include crun.mk
#
# make image   build the image of environment.yml, or find it
# make train   run SCRIPT with ARGS:  make train ARGS="--epochs 3"
# make shell   a shell in the image, under the same limits
# make why     why the last run ended, or the one called RUN
# make clean   remove what no project has used for 30 days; asks first
#
# A Makefile that has targets of these names sets CRUN_PREFIX = crun- before the
# include, for make crun-train and so on. Words of one value, such as SCRIPT, may
# hold blanks and quotes; ARGS and CRUN_FLAGS are words for the shell.

CRUN       ?= crun
SCRIPT     ?= train.py
ARGS       ?=
# PROFILE is the limits profile; empty for the default of profiles.yaml.
PROFILE    ?=
# CRUN_FLAGS are further flags of crun run: --gpus 1 -d
CRUN_FLAGS ?=
RUN        ?=

# The including Makefile's first target stays the default one.
crun-goal := $(.DEFAULT_GOAL)
crun-word = '$(subst ','\'',$(1))'
crun-run = $(call crun-word,$(CRUN)) run $(if $(PROFILE),--profile $(call crun-word,$(PROFILE))) $(CRUN_FLAGS)

.PHONY: $(CRUN_PREFIX)image $(CRUN_PREFIX)train $(CRUN_PREFIX)shell $(CRUN_PREFIX)why $(CRUN_PREFIX)clean

$(CRUN_PREFIX)image:
	$(call crun-word,$(CRUN)) build

$(CRUN_PREFIX)train:
	$(crun-run) -- $(call crun-word,$(SCRIPT)) $(ARGS)

$(CRUN_PREFIX)shell:
	$(crun-run) -- bash

$(CRUN_PREFIX)why:
	$(call crun-word,$(CRUN)) why $(if $(RUN),-- $(call crun-word,$(RUN)))

$(CRUN_PREFIX)clean:
	$(call crun-word,$(CRUN)) prune

.DEFAULT_GOAL := $(crun-goal)
