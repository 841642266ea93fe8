{{/* Names, labels and lists that several templates share. */}}

{{- define "partisan-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "partisan-operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := include "partisan-operator.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* The name of the Service of the metrics; a Service's has 63 characters at most. */}}
{{- define "partisan-operator.metricsService" -}}
{{- $name := include "partisan-operator.fullname" . }}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" $name) }}
{{- fail (printf "%s: Kubernetes refuses this name of a Service: set fullnameOverride to lower-case letters, digits and dashes, the first of which is a letter" $name) }}
{{- end }}
{{- $name | trunc 55 | trimSuffix "-" }}-metrics
{{- end }}

{{- define "partisan-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "partisan-operator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "partisan-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "partisan-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "partisan-operator.labels" -}}
{{- if not (hasKey .Values "fleet") }}
{{- fail "the values are those of an earlier version of this chart: upgrade with --reset-then-reuse-values, not with --reuse-values" }}
{{- end }}
{{- $own := include "partisan-operator.selectorLabels" . | fromYaml }}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion }}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service }}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") }}
{{- toYaml (merge $own .Values.commonLabels) }}
{{- end }}

{{/* The same with further labels, which cannot replace them: takes {root, labels}. */}}
{{- define "partisan-operator.labelsWith" -}}
{{- toYaml (merge (include "partisan-operator.labels" .root | fromYaml) .labels) }}
{{- end }}

{{/* The labels of the operator's pod, without the chart's version: an upgrade of the chart with the
     same image must not replace the pods. */}}
{{- define "partisan-operator.podLabels" -}}
{{- $own := include "partisan-operator.selectorLabels" . | fromYaml }}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion }}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service }}
{{- toYaml (merge $own .Values.podLabels .Values.commonLabels) }}
{{- end }}

{{/* The reference of an image: takes {image, default}, of which default is the tag if none. */}}
{{- define "partisan-operator.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ default .default .image.tag }}
{{- end }}
{{- end }}

{{/* "true" if a part of the monitoring is enabled: takes {root, enabled}. `auto` enables it if the
     API server knows the Prometheus operator's kinds. */}}
{{- define "partisan-operator.monitored" -}}
{{- if eq (toString .enabled) "auto" -}}
{{- if .root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}true{{ end }}
{{- else if .enabled -}}
true
{{- end }}
{{- end }}
